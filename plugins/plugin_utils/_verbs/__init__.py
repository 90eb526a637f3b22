# SPDX-License-Identifier: GPL-3.0-or-later
"""What each verb does: a file for each, with its steps in their order."""
