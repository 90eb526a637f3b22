# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweeps: many launches of one program with different parameters."""
