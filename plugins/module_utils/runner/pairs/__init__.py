# SPDX-License-Identifier: GPL-3.0-or-later
"""What the ranks of `pairs` run: rounds in which each node measures one other node, and the search for what is slow."""
