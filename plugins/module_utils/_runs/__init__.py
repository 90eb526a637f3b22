# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs on a node: start, stop, read, prune."""
