# SPDX-License-Identifier: GPL-3.0-or-later
"""The machines of tests/machines for the unit tests."""

from ansible_collections.muster.train.tools._machine.machine import MACHINES, Machine, load

__all__ = ["MACHINES", "Machine", "load"]
