# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs, the links between them and their health."""
