# SPDX-License-Identifier: GPL-3.0-or-later
"""Which braces are placeholders, and what becomes of all others."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._text.placeholders import expand, unknown_names

VALUES = {"run_dir": "/runs/{run_id}", "output_dir": "/runs/x/outputs", "run_id": "x", "node_rank": "1"}


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("{output_dir}", "/runs/x/outputs"),
        ("--out={output_dir}/{node_rank}/a", "--out=/runs/x/outputs/1/a"),
        ("{run_dir}", "/runs/{run_id}"),
        ("{{run_id}}", "{run_id}"),
        ("{{step}}", "{step}"),
        ("{{{run_id}}}", "{{run_id}}"),
        ('{"dir": "{output_dir}"}', '{"dir": "/runs/x/outputs"}'),
        ('{"a": {"b": 1}}', '{"a": {"b": 1}}'),
        ("{}", "{}"),
        ("{step:08d} {a.b} { run_id } {0}", "{step:08d} {a.b} { run_id } {0}"),
        ("${run_id} $HOME", "${run_id} $HOME"),
        ("{{ run_id }}", "{{ run_id }}"),
        ("{run_id", "{run_id"),
        ("run_id}", "run_id}"),
    ],
)
def test_only_a_name_in_one_pair_of_braces_is_replaced(text: str, expanded: str) -> None:
    assert expand(text, VALUES) == expanded
    assert unknown_names(text) == []


def test_unknown_names_are_listed_once_and_stay() -> None:
    text = "{epoch}-{loss}-{epoch}-{run_id}-{{name}}-${other}"
    assert unknown_names(text) == ["epoch", "loss"]
    assert expand(text, VALUES) == "{epoch}-{loss}-{epoch}-x-{name}-${other}"
