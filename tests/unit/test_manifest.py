# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines as text: the format, and the tree and host that are made of it."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.tools._machine.machine import MACHINES, Machine
from ansible_collections.muster.train.tools._machine.manifest import Answer, Manifest, ManifestError, dump, read

REAL = "/sys/devices/pci0000:07/0000:07:01.0/0000:0c:00.0"
# As sysfs is nested: the class and the bus are links, and the device leads back to where it lies.
NESTED = {
    "/sys/class/infiniband/mlx5_0": "../../devices/pci0000:07/0000:07:01.0/0000:0c:00.0/infiniband/mlx5_0",
    "/sys/class/infiniband/mlx5_0/device": "../../../0000:0c:00.0",
    "/sys/bus/pci/devices/0000:0c:00.0": "../../../devices/pci0000:07/0000:07:01.0/0000:0c:00.0",
}


def test_files_behind_links_are_where_the_links_lead(tmp_path: Path) -> None:
    files = {
        "/sys/class/infiniband/mlx5_0/node_type": "1: CA\n",
        "/sys/class/infiniband/mlx5_0/device/vendor": "0x15b3\n",
        "/sys/bus/pci/devices/0000:0c:00.0/numa_node": "1\n",
    }
    for order in (1, -1):
        manifest = {"links": dict(list(NESTED.items())[::order]), "files": dict(list(files.items())[::order])}
        host = Machine(manifest, tmp_path / str(order))
        assert host.resolve("/sys/class/infiniband/mlx5_0/device") == REAL
        assert host.read_text(f"{REAL}/infiniband/mlx5_0/node_type") == "1: CA\n"
        assert host.read_text("/sys/class/infiniband/mlx5_0/device/numa_node") == "1\n"
        assert host.read_text("/sys/bus/pci/devices/0000:0c:00.0/vendor") == "0x15b3\n"
        assert host.list_dir("/sys/class/infiniband") == ["mlx5_0"]
        assert host.list_dir(REAL) == ["infiniband", "numa_node", "vendor"]


def test_a_link_as_readlink_prints_it_without_the_rest_of_the_tree(tmp_path: Path) -> None:
    host = Machine({"links": {"/sys/class/infiniband/mlx5_0/device": "../../../0000:0c:00.0"}}, tmp_path)
    assert host.list_dir("/sys/class/infiniband/mlx5_0") == ["device"]
    assert host.read_link("/sys/class/infiniband/mlx5_0/device") == "../../../0000:0c:00.0"


def test_absolute_links_and_too_many_dots_stay_below_the_root(tmp_path: Path) -> None:
    links = {"/etc/machine-id": "/var/lib/dbus/machine-id", "/up": "../../../../../../../../etc", "/loop": "loop"}
    files = {"/var/lib/dbus/machine-id": "0123\n", "/up/hostname": "a\n", "/loop/x": "never there"}
    host = Machine({"links": links, "files": files}, tmp_path / "root")
    assert host.read_text("/var/lib/dbus/machine-id") == host.read_text("/etc/machine-id") == "0123\n"
    assert host.read_text("/etc/hostname") == "a\n"
    assert host.read_text("/loop/x") is None
    assert sorted(os.listdir(tmp_path)) == ["root"]


def test_links_behind_links(tmp_path: Path) -> None:
    links = {"/a/b": "/c", "/c/d": "../e", "/q": "/a/b", "/q/r": "/e/f"}
    host = Machine({"links": links, "files": {"/a/b/d/x": "x", "/e/f": "y"}}, tmp_path)
    assert host.read_text("/e/x") == "x"
    assert host.read_link("/c/r") == "/e/f"
    assert host.read_text("/e/f") == host.read_text("/a/b/r") == "y"


def test_errors(tmp_path: Path) -> None:
    table = "/sys/class/infiniband/mlx5_0/ports/1/gid_attrs"
    errors = {
        f"{table}/types/0": "EINVAL",
        f"{table}/ndevs/0": "ENODEV",
        "/sys/class/infiniband/mlx5_0/node_guid": "EACCES",
        "/sys/class/infiniband_verbs": "EACCES",
        "/proc/1/comm": "ENOENT",
    }
    files = {
        "/sys/class/infiniband/mlx5_0/node_guid": "there\n",
        "/sys/class/infiniband_verbs/uverbs0/ibdev": "mlx5_0\n",
    }
    host = Machine({"links": NESTED, "errors": errors, "files": files}, tmp_path)
    assert host.list_dir(f"{table}/types") == ["0"]
    for path in (f"{table}/types/0", f"{table}/ndevs/0", "/sys/class/infiniband/mlx5_0/node_guid"):
        assert host.exists(path)
        assert host.read_text(path) is None
    assert host.read_text(f"{REAL}/infiniband/mlx5_0/node_guid") is None
    assert not host.allows("/sys/class/infiniband/mlx5_0/node_guid", os.R_OK)
    assert host.list_dir("/sys/class/infiniband_verbs") is None
    assert host.read_text("/sys/class/infiniband_verbs/uverbs0/ibdev") == "mlx5_0\n"
    assert not host.exists("/proc/1/comm")


def test_a_folder_of_small_files_is_read_as_on_a_real_machine(tmp_path: Path) -> None:
    """The seam's own read_folder: links in it are not followed, and what cannot be read is not there."""
    manifest = {
        "files": {"/gids/0": "fe80", "/gids/1": "fd00", "/elsewhere": "secret"},
        "links": {"/gids/2": "../elsewhere", "/port": "gids"},
        "errors": {"/gids/1": "EINVAL"},
    }
    asked = ["0", "1", "2", "3"]
    for folder in ("/gids", "/port"):
        assert Machine(manifest, tmp_path / folder[1:]).read_folder(folder, asked) == {"0": b"fe80"}


@pytest.mark.parametrize(
    ("line", "argv", "exists"),
    [
        ("nvidia-smi topo -m", ["nvidia-smi", "topo", "-m"], True),
        ("nvidia-smi topo -m", ["/usr/bin/nvidia-smi", "topo", "-m"], True),
        ("/opt/rocm/bin/amd-smi topology", ["amd-smi", "topology"], True),
        ("nvidia-smi  topo   -m", ["nvidia-smi", "topo", "-m"], True),
        ("sh -c 'echo a b'", ["sh", "-c", "echo a b"], True),
        ("what's this", ["what's", "this"], True),
        ("nvidia-smi topo -m", ["nvidia-smi", "topo"], False),
    ],
)
def test_commands(tmp_path: Path, line: str, argv: list[str], exists: bool) -> None:
    result = Machine({"commands": {line: {"stdout": "out"}}}, tmp_path).run(argv)
    assert (result.rc, result.out, result.missing) == ((0, "out", False) if exists else (None, "", True))


def test_what_of_a_command_may_be_left_out(tmp_path: Path) -> None:
    manifest = read("commands: {a: {rc: 9, stderr: no}, b: {}, c: }")
    assert manifest.commands == {"a": Answer(9, "", "no"), "b": Answer(), "c": Answer()}
    assert Machine(manifest, tmp_path).run(["a"]).rc == 9


def test_every_word_is_text() -> None:
    text = "files: {/vendor: 0x10de, /numa: 010, /on: yes, /time: 12:30:45, /date: 2026-01-01, /none: , /null: null}"
    assert list(read(text).files.values()) == ["0x10de", "010", "yes", "12:30:45", "2026-01-01", "", "null"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a manifest is a mapping of about, files, links, errors, directories, addresses, environment, commands"),
        ("- a", "a manifest is a mapping of"),
        ("a: [", "not YAML: "),
        ("about: \x01", "not YAML: "),
        ("file: {}\nlink: {}", "unknown keys file, link; a manifest has about, files"),
        ("files: [/a]", "files: is not a mapping"),
        ("files: {/a: [b]}", "files: /a: is not text"),
        ("files: {a: b}", "files: 'a' is not an absolute path"),
        ('links: {"/a\\0": b}', "links: '/a\\x00' is not an absolute path"),
        ("errors: {/a: EWHAT}", "errors: /a: EWHAT is not the name of an error, such as EINVAL"),
        ("errors: {/a: errorcode}", "errors: /a: errorcode is not the name of an error"),
        ("directories: /a", "directories: is not a list of paths"),
        ("directories: [{}]", "directories: {} is not an absolute path"),
        ("addresses: {fd00--1: eth0}", "addresses: 'fd00--1' is not an IPv4 address"),
        ("commands: {a: b}", "commands: a: is not a mapping of rc, stdout, stderr"),
        ("commands: {a: {out: b}}", "commands: a: unknown keys out; there are rc, stdout, stderr"),
        ("commands: {a: {rc: b}}", "commands: a: rc is not a number"),
        ("files: {/a: b, /c: d, /a: e}", "/a is there twice"),
        ("about: a\nabout: b", "about is there twice"),
        ("files: {/a: b}\nlinks: {/a: c}", "/a is both a file and a link"),
        ("commands: {a: {stdout: {}}}", "commands: a: stdout: is not text"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(text: str, message: str) -> None:
    with pytest.raises(ManifestError) as raised:
        read(text)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ({"files": {"/a": "", "/a/b": ""}}, "/a is both a directory and a file"),
        ({"files": {"/a": ""}, "directories": ["/a"]}, "/a is both a directory and a file"),
        ({"files": {"/" + "a" * 300: ""}}, "cannot be made: File name too long"),
        ({"links": {"/a": ""}}, "'/a' cannot be made: No such file or directory"),
    ],
)
def test_what_cannot_be(tmp_path: Path, manifest: dict[str, Any], message: str) -> None:
    with pytest.raises(ManifestError, match=message):
        Machine(manifest, tmp_path)


def test_what_is_not_unicode(tmp_path: Path) -> None:
    host = Machine({"files": {"/a": "x\ud800y"}}, tmp_path)
    assert host.read_text("/a") == "x\ufffd\ufffd\ufffdy"


@pytest.mark.slow
def test_what_is_written_is_read_again_the_same() -> None:
    chance = random.Random(42)
    alphabet = [*"ab :#'\"\\\n\t\r\0-|%&*!{", "\x85", "\u2028", "é", "\U0001f600", "\x1b", "\ufeff", "word\n"]

    def text() -> str:
        return "".join(chance.choice(alphabet) for _place in range(chance.choice([3, 12, 300])))

    for _case in range(1500):
        manifest = Manifest(
            about=text(),
            files={"/" + text().replace("\0", ""): text() for _file in range(2)},
            links={"/l": text()},
            errors={"/e": "EINVAL"},
            directories=["/" + text().replace("\0", "")],
            commands={text(): Answer(chance.randrange(3), text(), text())},
        )
        assert read(dump(manifest)) == manifest


def test_texts_are_written_for_people() -> None:
    environ = "\0".join(["A=" + "a" * 60, "B=" + "b" * 60, ""])
    manifest = Manifest(files={"/a": "1: CA\n", "/b": "one\ntwo\n", "/c": " x\ny", "/d": environ})
    assert dump(manifest).splitlines()[2:] == [
        "files:",
        '  /a: "1: CA\\n"',
        "  /b: |",
        "    one",
        "    two",
        "  /c: |2-",
        "     x",
        "    y",
        '  /d: "A=' + "a" * 60 + "\\0\\",
        "    B=" + "b" * 60 + '\\0"',
    ]


@pytest.mark.parametrize("path", sorted(MACHINES.glob("*.yml")), ids=lambda path: path.stem)
def test_every_machine_reads_the_same_with_any_yaml(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    manifest, data = read(text), yaml.safe_load(text)
    assert manifest.about
    assert manifest.files == data["files"]
    assert manifest.links == data.get("links", {})
