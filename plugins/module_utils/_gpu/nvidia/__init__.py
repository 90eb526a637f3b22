# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA GPUs, from nvidia-smi, /proc and /sys."""
