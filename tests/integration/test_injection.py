# SPDX-License-Identifier: GPL-3.0-or-later
"""The corpus through real playbooks: what is taken arrives to the byte, what comes back is printed, nothing runs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._runs import start
from ansible_collections.muster.train.plugins.module_utils._runs.starters.base import StartError
from ansible_collections.muster.train.plugins.plugin_utils._request.parameters import read
from ansible_collections.muster.train.plugins.plugin_utils._request.verbs import VERBS
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.corpus import corpus
from ansible_collections.muster.train.tests.support.injection import escaped

ENV = next(parameter for parameter in VERBS["launch"] if parameter.name == "env")
# Of one process all strings of arguments and environment may have 2 MiB, and the longest are the unit tests'.
LONGEST = 6000


@pytest.fixture
def texts(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    made = corpus(tmp_path_factory.mktemp("injection") / "canaries")
    # Ansible itself reads no half of a character.
    return {name: text for name, text in made.items() if "\udcff" not in text}


def canaries(texts: dict[str, str]) -> Path:
    return Path(texts["absolute"]).parent


def taken(text: str) -> bool:
    """Return whether it may be a variable's value."""
    try:
        read(ENV, {"X": text})
    except ValueError:
        return False
    return len(text) < LONGEST


def secret(text: str) -> bool:
    """Return whether it may be a secret."""
    try:
        start.check_secrets({"X": text})
    except StartError:
        return False
    return len(text) < LONGEST


def unprintable(text: str) -> list[str]:
    return [line for line in text.split("\n") if not line.isprintable()]


@pytest.mark.gate
def test_hostile_values_arrive_and_return_and_none_is_executed(cluster: Cluster, texts: dict[str, str]) -> None:
    arguments = [text for text in texts.values() if taken(text)]
    variables = {f"HOSTILE_{number}": text for number, text in enumerate(arguments)}
    secrets = {f"HIDDEN_{number}": text for number, text in enumerate(filter(secret, texts.values()))}
    assert len(arguments) > 90
    assert len(secrets) > 130
    cluster.names = ["node0"]
    # As from a vault's file, whose texts are not templates.
    given = cluster.home / "given-secrets.json"
    given.write_text(
        json.dumps({"launch_secrets": {name: {"__ansible_unsafe": text} for name, text in secrets.items()}})
    )
    cluster.write()
    output = json.dumps([text for text in texts.values() if len(text) < LONGEST])
    until = cluster.home / "given-end"
    env = {**variables, "PRINT": output, "UNTIL": str(until)}
    escaped_env = {name: escaped(value) for name, value in env.items()}
    escaped_arguments = [escaped(argument) for argument in arguments]
    launched = cluster.launch("-e", f"@{given}", script="recorder.py", script_args=escaped_arguments, env=escaped_env)
    assert launched.rc == 0, launched.out
    until.touch()
    cluster.wait_phase(RUN_ID, "failed")
    home = cluster.verb("collect", run_id=RUN_ID)
    assert home.phases == {"node0": "failed"}, home.out

    arrived = json.loads((cluster.experiments / RUN_ID / "outputs" / "rank_00.json").read_text())
    assert arrived["argv"] == arguments
    assert {name: arrived["environment"].get(name) for name in variables} == variables
    assert {name: arrived["environment"].get(name) for name in secrets} == secrets

    shown = cluster.verb("logs", run_id=RUN_ID, lines=400)
    status = cluster.verb("status", run_id=RUN_ID)
    assert "{{ lookup('ansible.builtin.pipe', 'touch " in shown.out
    for played in (launched, home, shown, status):
        assert "{{ 7 * 7 }} the end" in played.out or played is launched
        assert unprintable(played.out) == []
    assert list(canaries(texts).iterdir()) == []


def test_refused_values_are_refused_by_name(cluster: Cluster, texts: dict[str, str]) -> None:
    """In one command, the most that can be wrong at once: one line each, and nothing for the terminal to do."""
    values = list(texts.values())
    names = [parameter.name for parameter in VERBS["launch"] if parameter.name not in ("script_args", "env")]
    wrong: dict[str, Any] = {
        name: f"{values[number]}\n{values[-number]}"[:LONGEST] for number, name in enumerate(names)
    }
    wrong.update(script_args=["x\0" + values[0]], env={"A B": values[1]})
    wrong.update({text: text for text in values if 0 < len(text) < LONGEST and text not in wrong})
    played = cluster.play("launch.yml", "-e", json.dumps(wrong))
    assert played.rc not in (0, None)
    assert unprintable(played.out) == []
    refused_names = {re.split(r"[: ]", line)[0] for line in played.messages}
    assert {*names, "script_args", "env"} <= refused_names
    assert cluster.processes() == []
    assert list(canaries(texts).iterdir()) == []
