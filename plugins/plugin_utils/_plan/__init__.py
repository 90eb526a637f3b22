# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan: everything that a launch will do on every node, as data."""
