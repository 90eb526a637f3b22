# SPDX-License-Identifier: GPL-3.0-or-later
"""What was asked of a verb."""
