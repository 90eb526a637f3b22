# SPDX-License-Identifier: GPL-3.0-or-later
"""RDMA devices, their ports and their GID tables."""
