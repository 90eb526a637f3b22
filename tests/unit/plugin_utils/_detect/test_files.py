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


def test_conf_of_a_new_library_has_the_reasons() -> None:
    assert files.conf(node(HCAS, library=NEW, not_set=[LEFT])).split("\n")[2:] == [
        "",
        "# D2, fabric: the fastest ports",
        "NCCL_IB_HCA==mlx5_0:1,mlx5_3:1",
        "",
        "# Not set, on purpose:",
        "# NCCL_ALGO: D6: NCCL tunes it",
        "",
    ]


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


def test_conf_takes_no_more_bytes_than_the_library() -> None:
    assert files.conf(node(mine("x" * 1023))) == f"NCCL_MINE={'x' * 1023}\n"
    for value in ("x" * 1024, "ü" * 512):
        with pytest.raises(ValueError, match="NCCL_MINE has 1024 bytes"):
            files.conf(node(mine(value)))


def test_compose() -> None:
    lines = files.compose(node(GLOO, HCAS, not_set=[LEFT])).splitlines()
    assert "NCCL 2.25.1. Written by" in lines[0] and "node0" not in lines[0]
    assert [line for line in lines if line and not line.startswith("#")] == [
        "GLOO_SOCKET_IFNAME=eth0",
        "NCCL_IB_HCA==mlx5_0:1,mlx5_3:1",
    ]
    assert "# D4, fabric: routes to the head" in lines
    assert lines[-1] == "# NCCL_ALGO: D6: NCCL tunes it"


@pytest.mark.parametrize("value", ["'a'", 'a"', "$HOME", "a\\b", "a #b", "#a", " a", "a ", "`a`"])
def test_compose_refuses_what_its_readers_bend(value: str) -> None:
    with pytest.raises(ValueError, match="NCCL_MINE="):
        files.compose(node(mine(value)))


@pytest.mark.parametrize("kind", ["compose", "conf"])
@pytest.mark.parametrize("value", ["a\nNCCL_IB_DISABLE=1", "a\r", "\x1b[2J"])
def test_a_value_that_would_be_two_lines_is_refused(kind: str, value: str) -> None:
    """A login may have any value; it reaches the resolver as it is."""
    with pytest.raises(ValueError, match=r"NCCL_MINE=.*control characters") as refusal:
        files.WRITERS[kind](node(mine(value)))
    assert str(refusal.value).isprintable()


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
