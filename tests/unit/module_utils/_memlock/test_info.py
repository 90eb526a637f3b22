# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may lock how much: what systemctl and docker say, and what is made of answers that are none."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.command import CommandResult
from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._memlock import info

# systemctl show of systemd 252 with four units, one of them unknown; the template's instance has no limit.
SHOWN = """\
Id=ssh.service
LoadState=loaded
MainPID=70
LimitMEMLOCK=8388608
NeedDaemonReload=yes

Id=sshd.service
LoadState=not-found
MainPID=0
LimitMEMLOCK=8388608
NeedDaemonReload=no

Id=user@1000.service
LoadState=loaded
MainPID=0
LimitMEMLOCK=infinity
NeedDaemonReload=no
"""
LIMITS = "Limit                     Soft Limit           Hard Limit           Units     \n"
LIMITS += "Max locked memory         {0:<20} {0:<20} bytes     \n"


def test_units() -> None:
    assert info.parse_units(SHOWN) == {
        "ssh.service": {"pid": 70, "configured": 8388608, "reload": True},
        "user@1000.service": {"pid": None, "configured": -1, "reload": False},
    }


@pytest.mark.parametrize("text", ["", "\n\n", "Id=\n", "LoadState=loaded\n", "Failed to connect to bus\n"])
def test_no_units(text: str) -> None:
    assert info.parse_units(text) == {}


@pytest.mark.parametrize(
    ("config", "gpu"),
    [
        ({}, False),
        ({"Runtime": "runc", "Devices": [{"PathOnHost": "/dev/infiniband/uverbs0"}]}, False),
        ({"Runtime": "nvidia"}, True),
        ({"DeviceRequests": [{"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=all"]}]}, True),
        ({"DeviceRequests": [{"Driver": "cdi", "DeviceIDs": ["vendor.com/nic=0"]}]}, False),
        ({"Devices": [{"PathOnHost": "/dev/kfd"}]}, True),
        ({"Devices": [{"PathOnHost": "/dev/dri"}]}, True),
        ({"Devices": None, "DeviceRequests": None}, False),
    ],
)
def test_containers(config: dict[str, Any], gpu: bool) -> None:
    result = info.parse_containers(json.dumps([{"Name": "/train", "HostConfig": config}]), True)
    assert result == [{"name": "train", "gpu": gpu, "privileged": False}]


@pytest.mark.parametrize("text", ["", "[", "{}", "7", "[7]", "null"])
def test_no_containers(text: str) -> None:
    assert info.parse_containers(text, True) == []


class Engine:
    """Answers as docker does; what it is asked is kept."""

    def __init__(self, answers: dict[str, CommandResult]) -> None:
        self.answers = answers
        self.asked: list[list[str]] = []

    def __call__(self, argv: Sequence[str], timeout: float, cwd: str | None) -> CommandResult:
        self.asked.append(list(argv))
        return self.answers[argv[1]]


def machine(root: Path, **answers: CommandResult) -> tuple[Host, Engine]:
    for path, text in (
        ("etc/docker/daemon.json", "{}"),
        ("run/docker.pid", "49\n"),
        ("proc/49/cmdline", "dockerd\0-H\0"),
    ):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    engine = Engine({"info": messages("false"), "ps": messages(""), "images": messages("abc\ndef\n"), **answers})
    return Host(str(root), engine), engine


def messages(out: str, rc: int = 0, err: str = "") -> CommandResult:
    return CommandResult(rc, out, err)


def test_a_container_reports_its_memlock_limit(tmp_path: Path) -> None:
    host, engine = machine(tmp_path, run=messages(LIMITS.format(4096)))
    result = info.read_engine(host, ["docker"], "", True)
    assert result is not None
    assert result["container"] == {"image": "abc", "soft": 4096, "hard": 4096, "why": None}
    assert (result["running"], result["containers"], result["live_restore"]) == (True, [], False)
    # Of an image nothing is started but cat, and it has no network.
    assert {"--entrypoint=cat", "--network=none", "--pull=never", "--rm"} <= {*engine.asked[-1]}


def test_an_engine_that_cannot_raise_the_limit_says_why(tmp_path: Path) -> None:
    refusal = "docker: Error response from daemon: error setting rlimit type 8\n\nRun docker --help\n"
    host, _engine = machine(tmp_path, run=messages("", 126, refusal))
    result = info.read_engine(host, ["docker"], "train:1", True)
    assert result is not None
    assert result["container"] == {"image": "train:1", "soft": None, "hard": None, "why": "error setting rlimit type 8"}


def test_no_image_and_check_mode_start_no_container(tmp_path: Path) -> None:
    host, engine = machine(tmp_path, images=messages(""))
    for probe in (True, False):
        result = info.read_engine(host, ["docker"], "", probe)
        container = result and result["container"]
        assert (container is not None, container and container["image"]) == (probe, None)
    assert "run" not in {argv[1] for argv in engine.asked}


def test_an_engine_that_does_not_answer(tmp_path: Path) -> None:
    host, _engine = machine(tmp_path, info=messages("", 1, "Cannot connect to the Docker daemon\n"))
    result = info.read_engine(host, ["docker"], "", True)
    assert result is not None
    assert (result["running"], result["why"]) == (False, "Cannot connect to the Docker daemon")


INCOMPLETE = {"ps": messages("a\nb\n"), "inspect": messages("[]")}


def test_an_incomplete_answer_is_reported(tmp_path: Path) -> None:
    host, _engine = machine(tmp_path, **INCOMPLETE)
    result = info.read_engine(host, ["docker"], "", False)
    assert result is not None
    assert result["why"]


def test_a_privileged_container_has_the_gpus_of_the_node(tmp_path: Path) -> None:
    inspected = messages(json.dumps([{"Name": "/x", "HostConfig": {"Privileged": True}}]))
    host, _engine = machine(tmp_path, ps=messages("a\n"), inspect=inspected)
    before = info.read_engine(host, ["docker"], "", False)
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kfd").touch()
    after = info.read_engine(host, ["docker"], "", False)
    assert before is not None and after is not None
    assert (before["containers"][0]["gpu"], after["containers"][0]["gpu"]) == (False, True)


def test_an_older_process_has_an_older_configuration(tmp_path: Path) -> None:
    host, _engine = machine(tmp_path)
    os.utime(tmp_path / "run/docker.pid", (1000, 1000))
    for written, stale in ((999, False), (1001, True)):
        os.utime(tmp_path / "etc/docker/daemon.json", (written, written))
        result = info.read_engine(host, ["docker"], "", False)
        assert result is not None and result["stale"] is stale
    (tmp_path / "proc/49/cmdline").write_text("dockerd\0--default-ulimit=memlock=-1\0")
    result = info.read_engine(host, ["docker"], "", False)
    assert result is not None and result["flag"] is True


def test_no_engine(tmp_path: Path) -> None:
    assert info.read_engine(Host(str(tmp_path)), ["docker"], "", True) is None


def test_a_second_name_of_a_unit_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "lib/systemd/system"
    folder.mkdir(parents=True)
    (folder / "ssh.service").touch()
    (folder / "user@.service").touch()
    (tmp_path / "etc/systemd/system").mkdir(parents=True)
    (tmp_path / "etc/systemd/system/sshd.service").symlink_to("/lib/systemd/system/ssh.service")
    asked = ["ssh.service", "sshd.service", "user@.service"]
    assert info.existing_units(Host(str(tmp_path)), asked) == ["ssh.service", "user@.service"]


def test_the_units_process_is_asked_and_not_its_configuration(tmp_path: Path) -> None:
    (tmp_path / "proc/70").mkdir(parents=True)
    (tmp_path / "proc/70/limits").write_text(LIMITS.format(8388608))
    engine = Engine({"show": messages(SHOWN.replace("LimitMEMLOCK=8388608", "LimitMEMLOCK=infinity", 1))})
    units = info.read_units(Host(str(tmp_path), engine), ["ssh.service", "user@.service"])
    assert (units["ssh.service"]["configured"], units["ssh.service"]["soft"]) == (-1, 8388608)
    assert "user@.service" not in engine.asked[0]
