# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python stacks of the ranks on a node."""
