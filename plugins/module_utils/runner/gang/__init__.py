# SPDX-License-Identifier: GPL-3.0-or-later
"""The runners of one run, tied together by the coordinator on the head."""
