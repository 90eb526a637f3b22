# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine around the ranks: kernel, limits, disks, memory, clock, processes."""
