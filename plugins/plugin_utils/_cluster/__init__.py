# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes and the policy of a cluster, as the inventory and the facts describe them."""
