# SPDX-License-Identifier: GPL-3.0-or-later
"""What a benchmark measured: bandwidths, how near they come to what the machines can do, as text and as a page."""
