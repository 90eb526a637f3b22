# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of what the next command takes over from -e: policy, but nothing out of a file and no secret."""

from __future__ import annotations

from datetime import date

import pytest
from ansible._internal._datatag._tags import VaultedValue

from ansible_collections.muster.train.plugins.plugin_utils._request.carried import carried_variables
from ansible_collections.muster.train.plugins.plugin_utils._request.variable_names import problem

SECRET = VaultedValue(ciphertext="$ANSIBLE_VAULT;1.1;AES256").tag("hunter2")


@pytest.mark.parametrize(
    ("text", "variables", "carried"),
    [
        ("launch_workdir=/x", {"launch_workdir": "/x"}, "launch_workdir=/x"),
        # A file is named or left out, whatever is in it.
        ("@f.yml", {"launch_slot": "a", "lab_db": "hunter2"}, "@f.yml"),
        ("@f.yml", {"script": "t.py", "launch_slot": "a", "lab_db": "hunter2"}, "@f.yml"),
        ("@f.yml", {"script": "t.py"}, None),
        ("@f.yml", {}, None),
        # One secret does not take the others away.
        ("launch_workdir=/x ansible_password=p", {"launch_workdir": "/x", "ansible_password": "p"}, "/x"),
        ("{...}", {"launch_workdir": "/x", "launch_env": {"HF_TOKEN": "t"}}, "/x"),
        ("{...}", {"launch_workdir": "/x", "launch_env": {"A": SECRET}}, "/x"),
        ("launch_workdir=/x db_password=p", {"launch_workdir": "/x", "db_password": "p"}, "/x"),
        ("ansible_ssh_private_key_file=~/.ssh/lab", {"ansible_ssh_private_key_file": "~/.ssh/lab"}, "same"),
        # Of every role, and the inventory's own.
        ("code_source=rsync", {"code_source": "rsync"}, "code_source=rsync"),
        ("memlock_limit=8GiB firewall_state=present", {"memlock_limit": "8GiB", "firewall_state": "present"}, "same"),
        ("cluster_user=bob", {"cluster_user": "bob"}, "cluster_user=bob"),
        ("channels=42", {"channels": 42}, None),
        # YAML, where JSON is not.
        ("{...}", {"channels": 1, "launch_slot": date(2026, 11, 20)}, '{"launch_slot": "2026-11-20"}'),
        ("{...}", {"channels": 1, "lab": date(2026, 11, 20), 3: 4}, '{"lab": "2026-11-20"}'),
    ],
)
def test_what_is_carried(text: str, variables: dict[str, object], carried: str | None) -> None:
    carried = text if carried == "same" else carried
    expected = '{"launch_workdir": "/x"}' if carried == "/x" else carried
    assert carried_variables([(text, variables)]) == ([] if expected is None else [expected])


@pytest.mark.parametrize(
    "name",
    ["HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIALS", "WANDB_API_KEY", "DB_PASSWD"],
)
def test_no_variable_that_a_launch_takes_for_a_secret_is_printed(name: str) -> None:
    assert problem(name)
    assert carried_variables([("{...}", {"launch_workdir": "/x", "launch_env": {name: "hunter2"}})]) == [
        '{"launch_workdir": "/x"}'
    ]
