# SPDX-License-Identifier: GPL-3.0-or-later
"""With which exit code preflight ends: by the last condition of its playbook."""

from __future__ import annotations

from pathlib import Path

import jinja2
import pytest
import yaml

from ansible_collections.muster.train.plugins.filter.end_playbook import FilterModule

PLAYBOOK = Path(__file__).resolve().parents[3] / "playbooks/preflight.yml"


def end(code: int) -> bool:
    """Return whether the play ends like any other where the checks have this code."""
    environment = jinja2.Environment(optimized=False)  # it would call the filter while it compiles
    environment.filters.update({f"muster.train.{name}": call for name, call in FilterModule().filters().items()})
    condition = yaml.safe_load(PLAYBOOK.read_text())[-1]["tasks"][-1]["when"]
    return bool(environment.compile_expression(condition)(preflight__result={"code": code}))


def test_a_failed_check_is_exit_code_1() -> None:
    with pytest.raises(SystemExit) as ended:
        end(1)
    assert ended.value.code == 1


@pytest.mark.parametrize("code", [0, 2])
def test_any_other_result_ends_the_play(code: int) -> None:
    assert end(code)
