# SPDX-License-Identifier: GPL-3.0-or-later
"""What torch's profiler has recorded of each rank: computation, communication, and how they overlap."""
