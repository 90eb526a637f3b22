# SPDX-License-Identifier: GPL-3.0-or-later
"""What NCCL and RCCL write of themselves: which fabric a run used."""
