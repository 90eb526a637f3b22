# SPDX-License-Identifier: GPL-3.0-or-later
"""What starts a node's ranks."""
