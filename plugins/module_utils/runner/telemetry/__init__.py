# SPDX-License-Identifier: GPL-3.0-or-later
"""What the node does while the ranks run, sampled by a process of its own."""
