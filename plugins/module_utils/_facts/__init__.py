# SPDX-License-Identifier: GPL-3.0-or-later
"""Gathering: which readers run, side by side, within which time."""
