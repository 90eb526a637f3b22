# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages of HTML: one skeleton and style, problems with remedies, tables."""
