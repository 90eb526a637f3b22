# SPDX-License-Identifier: GPL-3.0-or-later
"""The report on RDMA: its sections, and the report as text and page."""
