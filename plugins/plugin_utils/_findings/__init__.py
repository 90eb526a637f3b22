# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of checks, their origins and remedies."""
