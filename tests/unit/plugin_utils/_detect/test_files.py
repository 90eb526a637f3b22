# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of the environment: each grammar to the byte, and what a grammar cannot hold is refused."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.plugin_utils._detect import files
from ansible_collections.muster.train.plugins.plugin_utils._detect.detected import DetectedNode
from ansible_collections.muster.train.plugins.plugin_utils._nccl.library import Library
from ansible_collections.muster.train.plugins.plugin_utils._nccl.view import NotSet

HCAS = Variable("NCCL_IB_HCA", "=mlx5_0:1,mlx5_3:1", "fabric", "the fastest ports", "D2")
GLOO = Variable("GLOO_SOCKET_IFNAME", "eth0", "fabric", "routes to the head", "D4")
LEFT = NotSet("NCCL_ALGO", "D6", "NCCL tunes it")
OLD, NEW = Library("nccl", (2, 25, 1)), Library("nccl", (2, 26, 2))


def node(*variables: Variable, library: Library | None = OLD, not_set: list[NotSet] | None = None) -> DetectedNode:
    return DetectedNode("node0", library=library, environment=list(variables), not_set=not_set or [])


def mine(value: str, name: str = "NCCL_MINE", reason: str = "") -> Variable:
    return Variable(name, value, "cluster (nccl_env_variables)", reason)


def test_conf_of_an_old_library_has_assignments_and_nothing_else() -> None:
    assert files.conf(node(GLOO, HCAS, not_set=[LEFT])) == "NCCL_IB_HCA==mlx5_0:1,mlx5_3:1\n"
    assert files.conf(node(GLOO)) == ""


WITH_REASONS = node(GLOO, HCAS, library=NEW, not_set=[LEFT])


@pytest.mark.parametrize("kind", files.WRITERS)
def test_reasons_are_comments(kind: str) -> None:
    lines = files.WRITERS[kind](WITH_REASONS).splitlines()
    comments, values = ([line for line in lines if line and line.startswith("#") is wanted] for wanted in (True, False))
    assert "node0" not in comments[0]
    assert [any(reason in line for line in comments) for reason in (HCAS.reason, LEFT.reason)] == [True, True]
    assert len(values) == (1 if kind == "conf" else 2)


@pytest.mark.parametrize(
    ("library", "comments"),
    [
        (OLD, False),
        (NEW, True),
        (Library("nccl", (2, 30)), True),
        (Library("nccl", (3,)), True),
        (Library("nccl", None), False),
        (Library("rccl", (2, 21, 5)), False),
        (Library("rccl", (2, 27, 7)), True),
        (None, False),
    ],
)
def test_comments_only_where_the_library_skips_them(library: Library | None, comments: bool) -> None:
    assert ("#" in files.conf(node(HCAS, library=library))) is comments


def test_each_library_has_its_own_file() -> None:
    assert files.conf_name(Library("rccl", None)) == "rccl.conf"
    assert files.conf_name(OLD) == files.conf_name(None) == "nccl.conf"


def test_conf_keeps_blanks_and_quotes_because_the_library_does() -> None:
    assert files.conf(node(mine(" a 'b' "))) == "NCCL_MINE= a 'b' \n"


def test_conf_takes_as_many_bytes_as_the_library() -> None:
    assert files.conf(node(mine("x" * 1023))) == f"NCCL_MINE={'x' * 1023}\n"


# What readers of compose bend, what would be two lines (a login may have any value), what is too long for the library.
REFUSED = [
    *(("compose", value) for value in ("'a'", 'a"', "$HOME", "a\\b", "a #b", "#a", " a", "a ", "`a`")),
    *((kind, value) for kind in ("compose", "conf") for value in ("a\nNCCL_IB_DISABLE=1", "a\r", "\x1b[2J")),
    *(("conf", value) for value in ("x" * 1024, "ü" * 512)),
]


def refusal(kind: str, value: str) -> str:
    with pytest.raises(ValueError, match="NCCL_MINE") as refused:
        files.WRITERS[kind](node(mine(value)))
    return str(refused.value)


@pytest.mark.parametrize(("kind", "value"), REFUSED)
def test_what_a_grammar_cannot_hold_is_refused(kind: str, value: str) -> None:
    assert refusal(kind, value).isprintable()


@pytest.mark.parametrize("value", ["", "a b", "^=mlx5_3", "a#b", "1,2;3", "ü"])
def test_compose_takes_what_is_plain(value: str) -> None:
    assert f"NCCL_MINE={value}" in files.compose(node(mine(value))).splitlines()


@pytest.mark.parametrize("value", ["", "a b", "it's", '$(touch evaluated) `x` \\ "', "a#b; rm -rf x", "ü", "'"])
def test_a_shell_reads_back_what_was_meant(value: str, tmp_path: Path) -> None:
    file = tmp_path / "nccl.sh"
    file.write_text(files.shell(node(HCAS, mine(value), not_set=[LEFT])))
    command = ["sh", "-euc", '. "$1"; printf %s "$NCCL_MINE|$NCCL_IB_HCA"', "sh", str(file)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == f"{value}|=mlx5_0:1,mlx5_3:1"
    assert [path.name for path in tmp_path.iterdir()] == ["nccl.sh"]


@pytest.mark.parametrize("kind", files.WRITERS)
def test_a_reason_ends_no_comment(kind: str) -> None:
    """Names from hosts are in the reasons."""
    trap = "x\nexport EVIL=1\rEVIL=2\x1b[2J"
    report = node(dataclasses.replace(HCAS, reason=trap), library=NEW, not_set=[NotSet("NCCL_ALGO", "D6", trap)])
    text = files.WRITERS[kind](report)
    assert text.count("EVIL") == 4
    for line in text.splitlines():
        assert line.startswith("#") or "EVIL" not in line
    assert all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize("kind", files.WRITERS)
def test_files_have_no_line_that_is_too_long_for_a_reader_or_a_person(kind: str) -> None:
    text = files.WRITERS[kind](node(dataclasses.replace(HCAS, reason="why " * 100), library=NEW))
    assert max(len(line) for line in text.splitlines()) <= files.COMMENT_WIDTH
