# SPDX-License-Identifier: GPL-3.0-or-later
"""The container that this is, and the container engine of the node."""
