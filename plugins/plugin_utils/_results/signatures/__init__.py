# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of logs whose cause is known: the catalog, and what finds its lines."""
