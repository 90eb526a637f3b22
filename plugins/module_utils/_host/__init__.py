# SPDX-License-Identifier: GPL-3.0-or-later
"""The seam: the only door to the machine, for reading and writing alike."""
