# SPDX-License-Identifier: GPL-3.0-or-later
"""The script that shows machines as text, run as anybody runs it; and no machine that it gives up on."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tools._machine.machine import MACHINES
from ansible_collections.muster.train.tools._machine.manifest import Answer, Manifest, dump, read
from ansible_collections.muster.train.tools._machine.show import Options, main, show

pytestmark = pytest.mark.slow

SCRIPT = MACHINES / "show.py"
KEYS = ["about", "rdma", "gpu", "node", "library", "fabric", "env", "not_set", "findings", "warnings"]


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(list(arguments)) == 0
    document = json.loads(capsys.readouterr().out)
    assert isinstance(document, dict)
    return document


def machine(name: str) -> str:
    return str(MACHINES / f"{name}.yml")


def test_from_anywhere_without_anything_set_up(tmp_path: Path) -> None:
    # As somebody else's checkout, that this user may not write to and that has no link.
    checkout = tmp_path / "checkout"
    for folder in ("plugins", "tests/machines", "tools"):
        shutil.copytree(MACHINES.parents[1] / folder, checkout / folder, ignore=shutil.ignore_patterns("__pycache__"))
    file = tmp_path / "a.yml"
    file.write_text("about: nothing\n", encoding="utf-8")
    command = [sys.executable, "-B", str(checkout / "tests/machines/show.py"), "a.yml"]
    run = subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    document = json.loads(run.stdout)
    assert list(document) == ["a.yml"]
    assert list(document["a.yml"]) == KEYS
    assert document["a.yml"]["rdma"]["hcas"] == []
    assert sorted(path.name for path in checkout.iterdir()) == ["plugins", "tests", "tools"]


def test_one_machine(capsys: pytest.CaptureFixture[str]) -> None:
    document = shown(capsys, machine("hgx_h100_roce"), "--library", "nccl", "--version", "2.19.3")
    one = document[machine("hgx_h100_roce")]
    assert one["env"]["NCCL_IB_GID_INDEX"]["value"] == "3"
    assert one["env"]["NCCL_IB_GID_INDEX"]["rule"] == "D3"
    assert set(one["env"]["NCCL_IB_HCA"]) == {"value", "rule", "reason", "origin"}
    assert isinstance(one["not_set"]["NCCL_IB_DISABLE"], str)
    assert one["library"] == {"name": "nccl", "version": "2.19.3", "source": "--version"}
    assert one["node"]["hostname"] == "hgx11"


def test_the_library_is_that_of_the_gpus_unless_given(capsys: pytest.CaptureFixture[str]) -> None:
    file = machine("mi300x_bnxt")
    assert shown(capsys, file)[file]["library"] == {**shown(capsys, file)[file]["library"], "name": "rccl"}
    assert shown(capsys, file, "--library", "nccl")[file]["library"] == {"name": "nccl", "version": None, "source": ""}


def test_several_files_are_one_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    files = [machine(name) for name in ("dgx_h100_ib", "rtx4090")]
    document = shown(capsys, *files)
    assert list(document) == files
    assert {one["fabric"]["value"] for one in document.values()} == {"tcp"}
    assert {one["env"]["NCCL_IB_DISABLE"]["value"] for one in document.values()} == {"1"}
    assert [finding["check"] for finding in document[files[1]]["findings"]] == ["rdma ports"]


def test_a_file_given_twice_is_two_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    file = machine("laptop")
    assert list(shown(capsys, file, file, file)) == [file, f"{file}#2", f"{file}#3"]


def test_the_head(capsys: pytest.CaptureFixture[str]) -> None:
    file = machine("hgx_h100_roce")
    assert shown(capsys, file)[file]["env"]["GLOO_SOCKET_IFNAME"]["value"] == "bond0"
    rail = shown(capsys, file, "--head", "10.61.3.99")[file]
    assert rail["env"]["GLOO_SOCKET_IFNAME"]["value"] == "rail3"
    assert "interface" in [finding["check"] for finding in rail["findings"]]
    nowhere = shown(capsys, file, "--head", "fd00::1")[file]
    assert "GLOO_SOCKET_IFNAME" in nowhere["not_set"]


def test_mode(capsys: pytest.CaptureFixture[str]) -> None:
    file = machine("rtx4090")
    one = shown(capsys, file, "--mode", "rdma")[file]
    assert [(finding["check"], finding["status"]) for finding in one["findings"]] == [("rdma ports", "fail")]
    assert "no RDMA device" in one["findings"][0]["observed"]


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (None, [], "FILE: No such file or directory"),
        ("a: [", [], "FILE: not YAML: "),
        ("- a\n", [], "FILE: a manifest is a mapping of"),
        ("link: {}\n", [], "FILE: unknown keys link"),
        ("files: {/a: x, /a/b: y}\n", [], "FILE: /a is both a directory and a file"),
        ("errors: {/a: ENONE}\n", [], "FILE: errors: /a: ENONE is not the name of an error"),
        ("about: \udcff", [], "FILE: is not UTF-8"),
        ("", ["--version", "new"], "--version: 'new' is not a version such as 2.23.4"),
        ("", ["--head", "foo"], "--head: 'foo' is not an IP address"),
        ("", ["--mode", "fast"], "argument --mode: invalid choice: 'fast'"),
        ("", ["--what"], "unrecognized arguments: --what"),
    ],
)
def test_errors_of_use_are_one_line(tmp_path: Path, text: str | None, arguments: list[str], message: str) -> None:
    file = tmp_path / "m.yml"
    if text is not None:
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
    run = subprocess.run([sys.executable, SCRIPT, file, *arguments], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith(f"machine.py show: {message.replace('FILE', str(file))}")
    assert run.stderr.count("\n") == 1


def test_no_file_is_an_error_of_use() -> None:
    run = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "machine.py show: the following arguments are required: FILE\n"


GARBAGE = [
    "",
    "\n",
    "\0",
    "x" * 5000,
    "-1\n",
    "9" * 30,
    "0x\n",
    "\u0663",
    "4: ACTIVE",
    "{[",
    "NV18\t" * 40,
    "fe80::",
    "¹\n",
]


def garbled(manifest: Manifest, chance: random.Random) -> Manifest:
    """Return a machine of which much is wrong, though it can be built."""

    def text(old: str) -> str:
        way = chance.randrange(12)
        if way == 0:
            return chance.choice(GARBAGE)
        if way == 1:
            return old[: chance.randrange(len(old) + 1)]
        if way == 2:
            return old.replace(chance.choice("0123456789: \t\n"), chance.choice(["", "9", "\n", "-", "Z"]))
        return old

    def link(path: str, old: str) -> str:
        return chance.choice([path, "gone", "../gone\u0663"]) if not chance.randrange(20) else old

    return Manifest(
        about=manifest.about,
        files={path: text(old) for path, old in manifest.files.items() if chance.randrange(20)},
        links={path: link(path, old) for path, old in manifest.links.items() if chance.randrange(20)},
        errors={
            **{path: chance.choice(["EIO", "EACCES", "ENODEV", "ENOENT"]) for path in manifest.errors},
            **{path: "EIO" for path in manifest.files if not chance.randrange(20)},
        },
        directories=manifest.directories,
        commands={
            line: Answer(chance.choice([answer.rc, answer.rc, 9]), text(answer.stdout), text(answer.stderr))
            for line, answer in manifest.commands.items()
        },
    )


@pytest.mark.parametrize("name", sorted(path.stem for path in MACHINES.glob("*.yml")))
def test_no_machine_is_an_exception(name: str) -> None:
    chance = random.Random(name)
    manifest = read((MACHINES / f"{name}.yml").read_text(encoding="utf-8"))
    for mode in ("auto", "rdma"):
        broken = {"a": garbled(manifest, chance), "b": garbled(manifest, chance)}
        document = show(broken, Options("rccl" if mode == "rdma" else None, (2, 21, 5), mode))
        json.dumps(document, allow_nan=False)
        for one in document.values():
            assert list(one) == KEYS
            assert [warning for warning in one["warnings"] if "could not be read" in warning] == []


def test_an_empty_manifest_and_one_of_a_single_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text, usable, count in (
        ("{}", None, None),
        ("about: x", None, None),
        ("files: {}", None, None),
        ("links: {/sys/class/infiniband/a: a}", False, 0),
        ("errors: {/sys/class/infiniband: EIO}", None, 0),
    ):
        file = tmp_path / "m.yml"
        file.write_text(text, encoding="utf-8")
        [one] = shown(capsys, str(file)).values()
        assert one["rdma"]["usable"] is usable
        assert (one["gpu"] and one["gpu"]["count"]) == count
    assert read(dump(Manifest())) == Manifest()
