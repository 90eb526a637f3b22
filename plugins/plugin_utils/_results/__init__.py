# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of a run: verdict, report, experiment."""
