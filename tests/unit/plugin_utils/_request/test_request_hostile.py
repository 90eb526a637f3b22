# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hostile text in everything of a request: a refusal on lines that a terminal can show, or the same text."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._request import verbs
from ansible_collections.muster.train.plugins.plugin_utils._request.request import InvalidRequest
from ansible_collections.muster.train.tests.support.requests import make, only_line

# Hostile strings: refused by the field's name or kept to the letter, never altered

HOSTILE = [
    "; id",
    "x; rm -rf ~",
    "$(id)",
    "`id`",
    "${IFS}id",
    "a && id",
    "a || id",
    "| id",
    "> /tmp/f",
    "a\nid",
    "a\r\nid",
    "a\0b",
    "a\tb",
    "\x1b]0;title\x07",
    "\x7f",
    "a\u2028b",
    "\udcff",
    "{{ lookup('pipe', 'id') }}",
    "{% for x in range(9) %}{{ x }}{% endfor %}",
    "{# #}",
    "'; id; '",
    '"; id; "',
    "'unbalanced",
    "--config=/etc/passwd",
    "-c import os",
    "../../../../etc/passwd",
    "/dev/null",
    "*",
    "?[a-z]",
    "~root/x",
    "%s%n%x",
    "\\x41\\n",
    "a=b",
    "a,b",
    "!unsafe x",
    "&anchor",
    "null",
    "true",
    "é ü 漢字",
    "x" * 300,
]
LAUNCH_TYPES = {parameter.name: parameter.type for parameter in verbs.VERBS["launch"]}
FIELDS = [name for name in (p.name for p in verbs.VERBS["launch"]) if name not in ("script_args", "env")]
UNPRINTABLE = "\n\r\0\t\x1b\x07\x7f\u2028\udcff"


def kept_or_refused(name: str, literal: object, *args: Any, **kwargs: Any) -> None:
    """Either one line that begins with the parameter's name, or the value to the letter."""
    try:
        value, lines = make(*args, **kwargs)["parameters"][name]["value"], None
    except InvalidRequest as refusal:
        value, lines = None, str(refusal).split("\n")
    if lines is None:
        assert value == literal
    else:
        assert len(lines) == 1
        assert lines[0].startswith(f"{name}: ")
        assert lines[0].isprintable()


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("name", FIELDS)
def test_hostile_text_in_every_parameter(name: str, text: str) -> None:
    literal = True if LAUNCH_TYPES[name] == "bool" else text
    kept_or_refused(name, literal, {name: text}, script=name not in ("script", "module"))


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(
    ("variable", "name"), [("LABEL", "label"), ("CONFIG_FILE", "config"), ("CHANNELS", "channels")]
)
def test_hostile_text_in_the_environment(variable: str, name: str, text: str) -> None:
    kept_or_refused(name, text, environment={variable: text})


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("name", ["script", "config"])
def test_paths_keep_everything_that_is_printable(name: str, text: str) -> None:
    if any(c in text for c in UNPRINTABLE) or text.startswith("-"):
        assert only_line({name: text}).startswith(f"{name}: expected a path")
    else:
        assert make({name: text})["parameters"][name]["value"] == text


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_in_script_args_and_env(text: str) -> None:
    for name, value in (("script_args", ["--x", text]), ("env", {"X": text})):
        if any(c in text for c in UNPRINTABLE):
            assert only_line({name: value}).startswith(f"{name}: ")
        else:
            assert make({name: value})["parameters"][name]["value"] == value
    assert only_line({"env": {text + " ": "1"}}).startswith("env: ")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_as_one_string_of_script_args(text: str) -> None:
    try:
        literal = shlex.split(text)
    except ValueError:
        literal = []
    kept_or_refused("script_args", literal, {"script_args": text})


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("verb", ["status", "logs", "stop", "collect", "list"])
def test_hostile_run_ids(verb: str, text: str) -> None:
    assert only_line({"run_id": text}, verb=verb).startswith("run_id: ")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_of_parameters(text: str) -> None:
    assert "unknown parameter" in only_line({text: "1"})
