# SPDX-License-Identifier: GPL-3.0-or-later
"""What setup writes on a node: memlock, compose file, firewall."""
