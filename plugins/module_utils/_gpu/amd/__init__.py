# SPDX-License-Identifier: GPL-3.0-or-later
"""AMD GPUs, from KFD, /sys and the ROCm tools."""
