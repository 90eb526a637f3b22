# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses, routes, ports, names and reachability."""
