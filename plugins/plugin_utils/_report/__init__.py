# SPDX-License-Identifier: GPL-3.0-or-later
"""Pages with figures: what a sweep found."""
