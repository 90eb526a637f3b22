# SPDX-License-Identifier: GPL-3.0-or-later
"""The stacks of all ranks: which are alike, as text and as a document."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._results.documents import document
from ansible_collections.muster.train.plugins.plugin_utils._results.infos import Info, read_infos
from ansible_collections.muster.train.plugins.plugin_utils._results.stacks import (
    document_of,
    lines_of,
    stacks_of,
    text_of,
)
from ansible_collections.muster.train.tests.support import documents

SITE = "/venv{}/lib/python3.11/site-packages/torch/distributed"
TRAP = "{{ 1 }}\x1b[31m"


def frame(function: str, file: str, line: int) -> dict[str, Any]:
    return {"function": function, "file": file, "line": line}


def waiting(node: str) -> dict[str, Any]:
    frames = [
        frame("all_reduce", f"{SITE.format(node)}/distributed_c10d.py", 2501),
        frame("wrapper", f"{SITE.format(node)}/c10d_logger.py", 81),
        frame("step", f"/home/{node}/train.py", 41),
        frame("<module>", f"/home/{node}/train.py", 60),
    ]
    return {"name": "MainThread", "main": True, "frames": frames}


def reading() -> dict[str, Any]:
    return {"name": None, "main": True, "frames": [frame("__getitem__", "/home/n2/data.py", 10)]}


def rank(number: int | None, *threads: dict[str, Any], why: str | None = None) -> dict[str, Any]:
    source = "faulthandler" if threads else None
    return {"rank": number, "pid": 40 + (number or 0), "source": source, "why": why, "threads": list(threads)}


def infos(**stacks: list[dict[str, Any]]) -> list[Info]:
    return read_infos(
        [(node, {"run": {"run_id": "r", "phase": "running"}, "stacks": of}) for node, of in stacks.items()]
    )


def hang() -> list[Info]:
    return infos(
        n1=[rank(0, waiting("n1")), rank(1, waiting("n1"))],
        n2=[rank(3, waiting("n2")), rank(2, reading(), {"frames": []})],
    )


SILENT = infos(n1=[rank(0, reading())], n2=[rank(number, why=f"stopped {TRAP}") for number in (1, 2, 3)])


def test_ranks_at_the_same_place_share_a_row_whatever_their_paths() -> None:
    assert [line.split("  ")[0] for line in lines_of(stacks_of(hang()), 100)[1:]] == ["3", "1"]


def test_why_ranks_have_no_stacks_is_said_once() -> None:
    lines = lines_of(stacks_of(SILENT), 100)
    assert (len(lines), lines[2]) == (4, "")
    assert all(line.isprintable() for line in lines)


def test_processes_without_ranks_are_named_by_their_nodes() -> None:
    items = stacks_of(infos(n1=[rank(None, reading())], n2=[rank(None, reading())]))
    assert lines_of(items, 100)[1] == "2      n1/PID 40, n2/PID 40  __getitem__ (data.py:10)"
    assert [item.file_name for item in items] == ["n1_pid_40.txt", "n2_pid_40.txt"]


def test_what_nodes_send_cannot_choose_a_path_or_hide_another_rank() -> None:
    items = stacks_of(infos(**{"../n1": [rank(None, reading()), rank(0, reading())], "n2": [rank(0, waiting("n2"))]}))
    assert [(item.node, item.file_name) for item in items] == [
        ("../n1", "rank_00.txt"),
        ("../n1", ".._n1_pid_40.txt"),
    ]


def test_the_text_of_a_rank_has_all_threads() -> None:
    text = text_of(stacks_of(hang())[2], "r", "2026-11-20T14:30:52Z")
    assert len(text.split("\n\n")) == 1 + 2
    trap = {"name": TRAP, "frames": [frame(TRAP, TRAP, 1)]}
    (hostile,) = stacks_of(infos(n1=[rank(0, trap, why=TRAP)]))
    assert "\x1b" not in text_of(hostile, "r", "now")
    assert all(line.isprintable() for line in lines_of([hostile], 100))


def test_the_document() -> None:
    answers = [*hang(), *read_infos([("n3", {"unreachable": True, "msg": "no route"})])]
    items = stacks_of(answers)
    described = document("stacks", None, None, document_of("r", answers, items, "/e/r/stacks/t"))
    assert documents.errors(described) == []
    assert [(group["count"], group["ranks"]) for group in described["groups"]] == [(3, [0, 1, 3]), (1, [2])]
    assert described["groups"][0]["caller"] == frame("step", "/home/n1/train.py", 41)
    assert described["ranks"][2]["file"] == "/e/r/stacks/t/rank_02.txt"
    assert [error["node"] for error in described["errors"]] == ["n3"]
    assert documents.errors(document("stacks", None, None, {})) == []
