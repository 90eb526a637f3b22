# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may lock how much memory."""
