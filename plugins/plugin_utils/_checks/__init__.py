# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks: functions from a cluster's facts to findings."""
