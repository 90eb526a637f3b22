# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machines of tests/machines for the unit tests."""

from ansible_collections.muster.train.tools._machine.machine import MACHINES, Machine, load

__all__ = ["MACHINES", "Machine", "load"]
