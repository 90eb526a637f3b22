# SPDX-License-Identifier: GPL-3.0-or-later
"""A new cluster: host keys and the inventory."""
