# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every mutation of `make mutations` fits the role that it breaks."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.muster.train.tests.support.mutations import MUTATIONS, mutate
from ansible_collections.muster.train.tests.support.real_hosts import ROOT


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutations_fit_the_roles(name: str) -> None:
    _role, mutation = MUTATIONS[name]
    before = (ROOT / mutation["file"]).read_text()
    after = mutate(before, mutation)
    assert yaml.safe_load(after) != yaml.safe_load(before)
