# SPDX-License-Identifier: GPL-3.0-or-later
"""What the values that users set would really do."""
