# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A part of the fault suite: every fault, a few times. `make faults` is the whole of it, with the times."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.tests.faults import suite

SEED = 20261122
AT_ONCE = 4


@pytest.mark.parametrize("fault", suite.FAULTS)
def test_every_fault_ends_as_it_should(fault: str) -> None:
    rounds = 2 * AT_ONCE if suite.FAULTS[fault][0] is None else 2
    assert suite.make(fault, rounds, SEED, AT_ONCE).wrong == []
