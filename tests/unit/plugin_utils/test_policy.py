# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the cluster's policy: read as the role has it, refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.plugin_utils._findings import PlanError
from ansible_collections.muster.train.plugins.plugin_utils._policy import NAMES, Policy
from ansible_collections.muster.train.tests.unit.plan_parts import POLICY

DEFAULTS = Path(__file__).resolve().parents[3] / "roles" / "launch" / "defaults" / "main.yml"


def refusal(**changes: Any) -> str:
    with pytest.raises(PlanError) as caught:
        Policy.from_variables({**POLICY, **changes})
    return str(caught.value)


def test_the_roles_defaults_are_a_policy() -> None:
    policy = Policy.from_variables(yaml.safe_load(DEFAULTS.read_text(encoding="utf-8")))
    assert policy == Policy(
        env={},
        head_address="",
        port_range=(29400, 29999),
        slot="default",
        supervisor="auto",
        stop_grace=60,
        abort_grace=10,
        join_timeout=20,
        log_limit_mib=256,
    )


def test_names_are_all_that_is_read() -> None:
    assert sorted(NAMES) == sorted(POLICY)


def test_numbers_may_be_text_as_ini_inventories_have_them() -> None:
    assert Policy.from_variables({**POLICY, "launch_stop_grace": "90"}).stop_grace == 90


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("launch_stop_grace", "soon", "it is 'soon'; expected a whole number from 1 to 86400"),
        ("launch_abort_grace", 0, "it is 0; expected a whole number from 1 to 86400"),
        ("launch_join_timeout", True, "it is True; expected a whole number"),
        ("launch_log_limit_mib", None, "it is not set; expected a whole number"),
        ("launch_slot", "../a", "it is '../a'; expected 1 to 40 letters"),
        ("launch_supervisor", "cron", "it is 'cron'; expected one of auto, setsid, systemd"),
        ("launch_port_range", "1-2", "it is '1-2'; expected FIRST-LAST"),
        ("launch_port_range", None, "it is not set; expected FIRST-LAST"),
        ("launch_head_address", "-x", "it is '-x'; expected an address"),
        ("launch_head_address", ["a"], "it is ['a']; expected an address"),
        ("launch_env", "A=1", "it is 'A=1'; expected a mapping"),
    ],
)
def test_refused_by_name(name: str, value: Any, expected: str) -> None:
    assert refusal(**{name: value}).startswith(f"cluster: {name}: {expected}")


def test_everything_is_refused_at_once() -> None:
    assert len(refusal(launch_stop_grace="x", launch_slot="", launch_env=None).splitlines()) == 3
