# SPDX-License-Identifier: GPL-3.0-or-later
"""What crosses between a node and the controller, as typed records."""
