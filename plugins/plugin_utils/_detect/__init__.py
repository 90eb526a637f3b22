# SPDX-License-Identifier: GPL-3.0-or-later
"""What was detected, as text, page and files."""
