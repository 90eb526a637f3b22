# SPDX-License-Identifier: GPL-3.0-or-later
"""Slurm: the nodes of an allocation, and the command lines of its steps."""
