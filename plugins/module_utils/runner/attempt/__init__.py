# SPDX-License-Identifier: GPL-3.0-or-later
"""One start of a node's launcher, from its first process to its last."""
