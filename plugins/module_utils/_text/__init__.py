# SPDX-License-Identifier: GPL-3.0-or-later
"""Text that both sides print and compare."""
