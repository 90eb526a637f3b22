# SPDX-License-Identifier: GPL-3.0-or-later
"""The seam: paths under a root, reads that never raise."""

from __future__ import annotations

import hashlib
import os
import pwd
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.tests.support.machines import Machine

MACHINE = {
    "files": {"/proc/version": "Linux\n", "/etc/real/id": "abc\n", "/sys/devices/pci/0000:0c:00.0/class": "0x020700\n"},
    "links": {
        "/etc/id": "/etc/real/id",
        "/etc/up": "../../../../../../etc/real/id",
        "/sys/class/net/eth0": "../../devices/pci/0000:0c:00.0",
        "/loop/a": "b",
        "/loop/b": "a",
        "/dangling": "/nowhere",
    },
    "errors": {"/sys/gid": "EINVAL", "/sys/secret": "EACCES"},
    "directories": ["/empty"],
}


@pytest.fixture
def host(tmp_path: Path) -> Machine:
    return Machine(MACHINE, tmp_path / "root")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/proc/version", "Linux\n"),
        ("/etc/id", "abc\n"),
        ("/etc/up", "abc\n"),
        ("/sys/class/net/eth0/class", "0x020700\n"),
        ("/sys/class/net/eth0/../../pci/0000:0c:00.0/class", "0x020700\n"),
    ],
)
def test_reads_below_the_root_through_links(host: Machine, path: str, text: str) -> None:
    assert host.read_text(path) == text


@pytest.mark.parametrize(
    "path", ["/absent", "/sys/gid", "/sys/secret", "/empty", "/loop/a", "/dangling", "/proc\0", ""]
)
def test_what_cannot_be_read_is_none(host: Machine, path: str) -> None:
    assert host.read_text(path) is None
    assert host.read_tail(path, 5) is None
    assert host.sha256(path) is None


def test_links_do_not_lead_out_of_the_root(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("secret")
    host = Machine({"links": {"/a": str(tmp_path / "outside"), "/b": "../outside"}}, tmp_path / "root")
    assert host.read_text("/a") is None
    assert host.read_text("/b") is None


def test_a_pipe_without_a_writer_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert Host().read_text(str(tmp_path / "pipe")) == ""
    assert Host().sha256(str(tmp_path / "pipe")) is None


@pytest.mark.parametrize(
    ("path", "resolved"),
    [
        ("/etc/id", "/etc/real/id"),
        ("/sys/class/net/eth0/class", "/sys/devices/pci/0000:0c:00.0/class"),
        ("/absent/../x", "/x"),
        ("/", "/"),
        ("/loop/a", None),
    ],
)
def test_resolve(host: Machine, path: str, resolved: str | None) -> None:
    assert host.resolve(path) == resolved


def test_resolve_agrees_with_the_system_where_the_root_is_the_root(tmp_path: Path) -> None:
    Machine(MACHINE, tmp_path)
    for path in ("etc/up", "sys/class/net/eth0/class", "etc/nothing", "sys/class/net/eth0/../x"):
        assert Host().resolve(f"{tmp_path}/{path}") == os.path.realpath(tmp_path / path)


def test_read_link_is_the_target_as_written(host: Machine) -> None:
    assert host.read_link("/etc/id") == "/etc/real/id"
    assert host.read_link("/dangling") == "/nowhere"
    assert host.read_link("/proc/version") is None
    assert host.is_link("/dangling")
    assert not host.is_link("/proc/version")


def test_what_is_there(host: Machine) -> None:
    assert host.is_file("/etc/id")
    assert not host.is_dir("/etc/id")
    assert host.is_dir("/empty")
    assert not host.is_file("/empty")
    assert host.exists("/etc/id")
    assert not host.exists("/dangling")
    assert not host.exists("/loop/a")
    assert host.list_dir("/loop") == ["a", "b"]
    assert host.list_dir("/empty") == []
    assert host.list_dir("/absent") is None
    assert host.list_dir("/etc/id") is None


def test_identity_is_of_the_thing_not_of_its_name(host: Machine) -> None:
    assert host.identity("/etc/id") == host.identity("/etc/real/id") != host.identity("/proc/version")
    assert host.identity("/absent") is None


def test_parts_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"first\nsecond \xff\n")
    host, path = Host(), str(tmp_path / "log")
    assert host.read_bytes(path, 5) == b"first"
    assert host.read_text(path) == "first\nsecond \ufffd\n"
    assert host.read_tail(path, 3) == " \ufffd\n"
    assert host.read_tail(path, 100) == host.read_text(path)
    assert host.size(path) == 15
    assert host.modified(path) == os.stat(path).st_mtime
    assert host.sha256(path) == hashlib.sha256(b"first\nsecond \xff\n").hexdigest()


def test_a_large_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    data = os.urandom(3 * 1024 * 1024)
    (tmp_path / "data").write_bytes(data)
    assert Host().read_bytes(f"{tmp_path}/data") == data
    assert Host().read_bytes(f"{tmp_path}/data", 2 * 1024 * 1024 + 1) == data[: 2 * 1024 * 1024 + 1]


def test_settings_of_the_kernel_refuse_a_large_buffer() -> None:
    assert Host().read_text("/proc/sys/kernel/hostname") == f"{os.uname().nodename}\n"


def test_which(monkeypatch: pytest.MonkeyPatch, host: Machine) -> None:
    for path, mode in (("bin/tool", 0o644), ("usr/bin/tool", 0o755), ("venv/bin/tool", 0o755)):
        place = Path(host.root, path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch(mode)
    monkeypatch.setenv("PATH", "/bin:/empty:relative:/usr/bin:/venv/bin")
    assert host.which("tool") == "/usr/bin/tool"
    assert host.which("/venv/bin/tool") == "/venv/bin/tool"
    assert host.which("/bin/tool") is None  # not executable
    assert host.which("empty") is None
    assert host.which("other") is None


def test_which_keeps_the_link_of_a_virtual_environment(tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to("/bin/sh")
    assert Host().which(f"{tmp_path}/python3") == f"{tmp_path}/python3"


def test_a_command_runs_in_a_directory_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    assert Host(str(tmp_path)).run(["pwd"], cwd="/work").out == f"{tmp_path}/work\n"


def test_the_files_of_a_folder(tmp_path: Path) -> None:
    Machine(
        {
            "files": {"/gids/0": "zero", "/gids/1": "one" * 5000},
            "directories": ["/gids/2"],
            "links": {"/gids/3": "0", "/tables": "/gids"},
        },
        tmp_path,
    )
    host = Host(str(tmp_path))
    os.mkfifo(tmp_path / "gids/4")
    result = host.read_folder("/tables", ["0", "1", "2", "3", "4", "5", "../secret/x", "\0"], limit=10)
    # The pipe has no writer, and nothing to say.
    assert result == {"0": b"zero", "1": b"oneoneoneo", "4": b""}
    assert host.read_folder("/gids/0", ["0"]) == {}
    assert host.read_folder("/no", ["0"]) == {}


def test_what_opens(tmp_path: Path) -> None:
    host = Machine({"files": {"/dev/here": ""}, "errors": {"/dev/forbidden": "EPERM"}}, tmp_path)
    assert host.opens("/dev/here")
    assert not host.opens("/dev/forbidden")
    assert not host.opens("/dev/missing")
    assert not host.opens("/dev/\0")


def test_the_home_is_the_user_database_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/elsewhere")
    assert Host().home() == pwd.getpwuid(os.geteuid()).pw_dir


def test_below_a_directory_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "top" / "folder").mkdir(parents=True)
    (tmp_path / "top" / "folder" / "file").write_text("text")
    (tmp_path / "top" / "link").symlink_to("folder")
    (tmp_path / "top" / "folder" / "link").symlink_to("file")
    (tmp_path / "file").write_text("outside")
    os.mkfifo(tmp_path / "top" / "pipe")
    host, top = Host(), str(tmp_path / "top")
    assert host.read_bytes("folder/file", below=top) == b"text"
    assert host.sha256("folder/file", 4, below=top) == hashlib.sha256(b"text").hexdigest()
    for path in ("link/file", "folder/link", "folder", "pipe", "../file", "", "folder/file\0", f"{top}/folder/file"):
        assert (host.read_bytes(path, below=top), host.sha256(path, below=top)) == (None, None), path
