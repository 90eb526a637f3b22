# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress as trainers print or write it: one file per format, a registry, and what combines them."""
