# SPDX-License-Identifier: GPL-3.0-or-later
"""What nodes that measured each other in pairs have found: as text, as a page and as a document."""
