# SPDX-License-Identifier: GPL-3.0-or-later
"""How a node's files of a run come into the experiment, and the command for the end of a run."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._verbs import collect
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import HostSession, Unreachable
from ansible_collections.muster.train.tests.support.reports import RUN_ID, info
from ansible_collections.muster.train.tests.support.verbs import play_of

PARTS = {f"node{rank}": {"first_rank": 2 * rank, "nproc": 2, "nnodes": 2, "replaces": None} for rank in (0, 1)}
SILENT = {"unreachable": True, "msg": "Connection refused"}
LOG = "logs/rank_00.log"
LINE = b"2026-11-20T14:30:53.000Z step 1\n"
MERGED = "2026-11-20T14:30:53.000Z rank0 | step 1\n"


class Node:
    """A node with files of the run; garbled is what a connection puts in front of a copied file, None if it fails."""

    def __init__(self, files: Mapping[str, bytes], name: str = "node0", garbled: bytes | None = b"") -> None:
        self.files, self.name, self.garbled = dict(files), name, garbled
        self.becomes = self.is_gone = False
        self.part_bytes, self.shared = 1 << 20, ""
        self.answer: dict[str, Any] | None = None
        self.more: dict[str, Any] = {}
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.fetched: list[str] = []
        self.modified = 1000.5

    def run_module(self, module: str, options: Mapping[str, Any]) -> dict[str, Any]:
        self.calls.append((module, dict(options)))
        if module == "run_info":
            run = info(self.name, "succeeded", **self.more)["launch__info"]["run"]
            files = [_listed(path, data, self.modified) for path, data in self.files.items()]
            return self.answer or {"run": run, "files": files, "shared_outputs": self.shared or None, "remaining": {}}
        if self.is_gone:
            return SILENT
        data = self.files[options["path"]]
        part = data[options["offset"] :][: self.part_bytes]
        last = options["offset"] + len(part) >= len(data)
        content, digest = base64.b64encode(part).decode(), hashlib.sha256(part).hexdigest()
        return {"content": content, "sha256": digest, "last": last}

    def fetch_file(self, path: str, local: Path) -> None:
        self.fetched.append(path)
        if self.is_gone:
            raise Unreachable("Connection refused")
        if self.garbled is None:
            raise OSError("sftp: permission denied")
        listed = path.replace(self.shared, "outputs") if self.shared else path.removeprefix(f"/w{self.name[-1]}/")
        local.write_bytes(self.garbled + self.files[listed])


def _listed(path: str, data: bytes, modified: float) -> dict[str, Any]:
    stays = "rename it there" if "\\" in path else None
    return {
        "path": path,
        "size": len(data),
        "modified": modified,
        "sha256": hashlib.sha256(data).hexdigest(),
        "stays": stays,
    }


def fetch(
    node: Node,
    home: Path,
    verb: str = "collect",
    policy: Mapping[str, Any] | None = None,
    is_checked: bool = False,
    groups: Mapping[str, Any] | None = None,
    **answers: Any,
) -> dict[str, Any] | None:
    known = {"launch__ranks": {"parts": PARTS, "by_plan": True}, **answers}
    play = play_of(verb, dict.fromkeys(PARTS, known), {}, policy, experiments=str(home))
    session = HostSession(node.run_module, fetch_file=node.fetch_file, becomes=node.becomes)
    play = dataclasses.replace(play, host=session, is_checked=is_checked, groups=groups or play.groups)
    result = collect.fetch.work(play, node.name)
    return None if result is None else dict(result)


def texts_below(home: Path) -> dict[str, bytes]:
    """The files of the experiment; none of a copy that did not succeed is left."""
    folder = home / RUN_ID
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_new_files_are_copied_and_the_logs_merged(tmp_path: Path) -> None:
    node = Node({LOG: LINE, "outputs/model.pt": b"\0\1", "state.json": b"{}"})
    result = fetch(node, tmp_path)
    copied = ["ranks/rank_00.log", "outputs/model.pt", "nodes/0/state.json"]
    assert result is not None
    assert (result["fetched"], result["changed"], result["remaining"]) == (copied, True, {})
    assert "warnings" not in result
    expected = dict(zip(copied, (LINE, b"\0\1", b"{}"), strict=True))
    assert texts_below(tmp_path) == {**expected, "logs/node_0.txt": MERGED.encode()}
    assert [module for module, _options in node.calls] == ["run_info"]
    status = (tmp_path / RUN_ID / copied[0]).stat()
    assert (status.st_mode & 0o777, status.st_mtime) == (0o600, 1000.5)
    assert (tmp_path / RUN_ID).stat().st_mode & 0o777 == 0o700
    again = fetch(Node(node.files), tmp_path)
    assert again is not None
    assert (again["fetched"], again["changed"]) == ([], False)


def test_check_mode_copies_nothing(tmp_path: Path) -> None:
    result = fetch(Node({LOG: LINE}), tmp_path, is_checked=True)
    assert result is not None
    assert (result["fetched"], result["changed"]) == (["ranks/rank_00.log"], True)
    assert list(tmp_path.iterdir()) == []


def test_what_a_node_is_asked(tmp_path: Path) -> None:
    policy = {
        "launch_workdir": "/w",
        "launch_docker": ["podman"],
        "launch_collect_exclude": ["*.tmp"],
        "launch_collect_limit_mib": 7,
        "launch__wait": 15,
        "launch_shared_output_dir": "/shared",
    }
    asked = {"workdir": "/w", "run_id": RUN_ID, "docker": ["podman"], "exclude": ["*.tmp"], "limit_mib": 7, "wait": 15}
    for name, place in (("node0", {"shared_output_dir": "/shared"}), ("node1", {})):
        node = Node({}, name)
        fetch(node, tmp_path, policy=policy)
        assert node.calls == [("run_info", {**asked, "files": True, "node": name, **place})]
    node = Node({})
    fetch(node, tmp_path)
    assert (node.calls[0][1]["wait"], node.calls[0][1]["limit_mib"]) == (0, 1024)


def test_outputs_of_all_ranks_are_in_the_directory_that_the_nodes_share(tmp_path: Path) -> None:
    node = Node({"outputs/rank_03.pt": b"3"})
    node.shared = "/shared/run"
    result = fetch(node, tmp_path, policy={"launch_shared_output_dir": "/shared"})
    assert result is not None
    assert (result["fetched"], node.fetched) == (["outputs/rank_03.pt"], ["/shared/run/rank_03.pt"])


@pytest.mark.parametrize("answer", [SILENT, {"failed": True, "msg": "run_id: 'x' is not a valid run ID"}])
def test_a_node_that_does_not_list_its_files(tmp_path: Path, answer: dict[str, Any]) -> None:
    node = Node({})
    node.answer = answer
    assert fetch(node, tmp_path) == answer


def test_a_spare_that_was_not_needed_is_not_asked(tmp_path: Path) -> None:
    plan = {"run_id": RUN_ID, "head": {"node": "node0"}, "jobs": {"node0": {}}}
    node = Node({LOG: LINE}, "node1")
    assert fetch(node, tmp_path, verb="launch", launch__plan={"plan": plan}) is None
    assert node.calls == []


@pytest.mark.parametrize("garbled", [b"Welcome\n", None])
def test_a_file_that_the_connection_spoils_is_read_by_a_module(tmp_path: Path, garbled: bytes | None) -> None:
    node = Node({"outputs/a": b"abcde", "outputs/b": b"b", "outputs/empty": b""}, garbled=garbled)
    node.part_bytes = 2
    result = fetch(node, tmp_path)
    assert result is not None
    assert "warnings" not in result
    kept = texts_below(tmp_path)
    assert {path: kept[path] for path in result["fetched"]} == node.files
    # The first copy shows that the connection is not to be used.
    assert node.fetched == ["/w0/outputs/a"]
    assert [options["offset"] for module, options in node.calls if module == "run_file"] == [0, 2, 4, 0, 0]


def test_what_only_another_user_may_read_is_read_by_a_module(tmp_path: Path) -> None:
    node = Node({"outputs/a": b"a"})
    node.becomes = True
    fetch(node, tmp_path, policy={"launch_workdir": "/w"})
    assert node.fetched == []
    place = {"workdir": "/w", "run_id": RUN_ID, "node": "node0"}
    assert node.calls[1:] == [("run_file", {**place, "path": "outputs/a", "offset": 0})]


def changing() -> Node:
    """A node on which a file grows, and another one changes."""
    node = Node({"outputs/log": b"12", "outputs/changed": b"123456"})
    listing = node.run_module("run_info", {})
    node.answer = listing
    node.files = {"outputs/log": b"1234", "outputs/changed": b"abcdef"}
    node.part_bytes = 4
    return node


def test_a_file_that_has_grown_is_cut_and_one_that_has_changed_is_left(tmp_path: Path) -> None:
    result = fetch(changing(), tmp_path)
    assert result is not None
    assert result["fetched"] == ["outputs/log"]
    assert texts_below(tmp_path)["outputs/log"] == b"12"
    assert "outputs/changed" not in texts_below(tmp_path)
    [warning] = result["warnings"]
    assert warning.startswith("node0: outputs/changed ")
    assert not list(tmp_path.rglob("*.new"))


UNPRINTABLE = {r"outputs/\x1b": b"", "outputs/a": b"a"}


def test_a_node_that_goes_away_meanwhile_is_unreachable_and_its_warnings_stay(tmp_path: Path) -> None:
    node = Node(UNPRINTABLE)
    node.is_gone = True
    result = fetch(node, tmp_path) or {}
    [warning] = result["warnings"]
    assert result == {**SILENT, "warnings": [warning]}
    assert r"outputs/\x1b" in warning
    assert texts_below(tmp_path) == {}


def test_a_claim_of_other_ranks_is_refused(tmp_path: Path) -> None:
    node = Node({LOG: LINE, "logs/rank_02.log": LINE}, "node1")
    node.more = {"first_rank": 0}
    result = fetch(node, tmp_path)
    assert result is not None
    assert result["fetched"] == ["ranks/rank_02.log"]
    assert [warning.split(":")[0] for warning in result["warnings"]] == ["node1"]


@pytest.mark.parametrize(("mtime", "count"), [(2000, 0), (10, 1)])
def test_with_spares_the_newer_file_of_a_rank_is_kept(tmp_path: Path, mtime: int, count: int) -> None:
    local = tmp_path / RUN_ID / "outputs" / "model.pt"
    local.parent.mkdir(parents=True)
    local.write_bytes(b"of a spare")
    os.utime(local, (mtime, mtime))
    groups = {"nodes": [*PARTS], "spares": ["spare"]}
    result = fetch(Node({"outputs/model.pt": b"new"}), tmp_path, groups=groups)
    assert result is not None
    assert len(result["fetched"]) == count


class SlowNode(Node):
    """A node whose copies take until another node's are made, or for a second, where that one waits itself."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        super().__init__(files)
        self.begun, self.overtaken = threading.Event(), threading.Event()

    def fetch_file(self, path: str, local: Path) -> None:
        super().fetch_file(path, local)
        self.begun.set()
        self.overtaken.wait(1)


def test_the_newer_file_is_kept_also_where_both_are_copied_at_once(tmp_path: Path) -> None:
    groups = {"nodes": [*PARTS], "spares": ["spare"]}
    older, newer = SlowNode({"outputs/model.pt": b"older"}), Node({"outputs/model.pt": b"newer"})
    older.modified -= 1

    def fetch_next() -> None:
        older.begun.wait()
        fetch(newer, tmp_path, groups=groups)
        older.overtaken.set()

    thread = threading.Thread(target=fetch_next)
    thread.start()
    fetch(older, tmp_path, groups=groups)
    thread.join()
    assert (tmp_path / RUN_ID / "outputs" / "model.pt").read_bytes() == b"newer"


def end_command(home: Path, on_end: str | None, answered: bool = True) -> Any:
    plan = {"run_id": RUN_ID, "head": {"node": "node0"}, "jobs": {"node0": {}}}
    answer = info("node0", "succeeded", exit_code=0)["launch__info"] if answered else SILENT
    hosts = {"node0": {"launch__collected": answer, "launch__plan": {"plan": plan}}}
    play = play_of("launch", hosts, {"on_end": on_end}, experiments=str(home))
    return collect.record.conclusion(play).result.get("end_command")


@pytest.mark.parametrize("on_end", [None, "", "https://example.com/hook", "secret:HOOK"])
def test_without_a_command_and_for_a_notice_of_the_head_nothing_is_started(tmp_path: Path, on_end: str | None) -> None:
    assert end_command(tmp_path, on_end) is None


def test_the_command_for_the_end_of_a_run_gets_the_verdict(tmp_path: Path) -> None:
    command = end_command(tmp_path, "./notify --all")
    assert command["cmd"] == "./notify --all"
    experiment = str(tmp_path / RUN_ID)
    known = {"MUSTER_RUN_ID": RUN_ID, "MUSTER_VERDICT": "succeeded", "MUSTER_EXPERIMENT": experiment}
    assert command["environment"] == known
    assert json.loads(command["stdin"])["verdict"] == "succeeded"


def test_the_command_for_the_end_of_a_run_where_no_node_says_how_it_ended(tmp_path: Path) -> None:
    command = end_command(tmp_path, "./notify", answered=False)
    assert (command["environment"]["MUSTER_VERDICT"], command["stdin"]) == ("", "null")
