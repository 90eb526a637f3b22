# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of what the action plugins share."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import MagicMock

import pytest
from ansible.template import trust_as_template

from ansible_collections.muster.train.plugins.plugin_utils._action import base, files
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.tests.support.actions import result_of


class Example(base.ControllerAction):
    OPTIONS: ClassVar[Mapping[str, Any]] = {"names": {"type": "list", "elements": "str", "required": True}}

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        if not args["names"]:
            raise UserError("names: expected one at least")
        assert isinstance(args["names"], list)
        assert {type(name) for name in args["names"]} == {str}
        return {"names": args["names"], "known": sorted(variables)}


def run(**args: Any) -> dict[str, Any]:
    task = MagicMock(args=args, async_val=0, check_mode=False)
    return result_of(Example(task, MagicMock(), MagicMock(), MagicMock(), MagicMock(), None), {"one": 1})


def test_options_are_validated_and_plain() -> None:
    result = run(names=[trust_as_template("{{ 7 }}")])
    assert result == {"changed": False, "names": ["{{ 7 }}"], "known": ["one"]}
    assert "missing required arguments: names" in run()["msg"]


def test_an_error_of_the_user_is_the_message() -> None:
    assert run(names=[]) == {"changed": False, "failed": True, "msg": "names: expected one at least"}


def test_a_file_is_written_whole_or_refused_by_its_option(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    assert files.read_text(path) is None
    files.write_text(path, "text", "page", "a file of yours")
    assert (files.read_text(path), [child.name for child in path.parent.iterdir()]) == ("text", ["file"])
    with pytest.raises(UserError, match=r"^page: .*/file/x "):
        files.write_text(path / "x", "text", "page", "a file of yours")


def test_a_path_is_shown_as_it_is_shortest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert files.relative(tmp_path / "a") == "a"
    assert files.relative("/etc") == "/etc"


def test_a_link_leads_to_the_newest_and_takes_the_place_of_one_that_leads_nowhere(tmp_path: Path) -> None:
    link = tmp_path / "latest"
    for target, is_newest, expected in (("a", False, "a"), ("b", False, "b"), ("c", True, "c"), ("d", False, "c")):
        (tmp_path / "c").mkdir(exist_ok=True)
        files.make_link(link, target, is_newest)
        assert os.readlink(link) == expected


def test_what_is_not_a_link_stays(tmp_path: Path) -> None:
    (tmp_path / "latest").mkdir()
    files.make_link(tmp_path / "latest", "a", is_newest=True)
    assert not (tmp_path / "latest").is_symlink()
