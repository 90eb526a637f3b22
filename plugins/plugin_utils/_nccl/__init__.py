# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment that NCCL and RCCL get, one file per rule."""
