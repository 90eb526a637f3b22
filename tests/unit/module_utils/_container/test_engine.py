# SPDX-License-Identifier: GPL-3.0-or-later
"""The container engine, by its own client."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._container.engine import (
    DAEMON,
    default_memlock,
    parse_daemon,
    read_engine,
)
from ansible_collections.muster.train.plugins.module_utils._container.engine_output import (
    IMAGE,
    INSPECT,
    EngineInfo,
    parse_gpu_containers,
    parse_image,
    parse_info,
)
from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.health import Engine, Image
from ansible_collections.muster.train.tests.support.machines import Machine
from ansible_collections.muster.train.tests.support.this_machine import OwnMachine, answer

CLIENT = {
    "Version": "28.3.2",
    "Plugins": [{"Name": "buildx", "Version": "v0.25.0"}, {"Name": "compose", "Version": "v2.38.2"}],
}
INFO: dict[str, Any] = {
    "ServerVersion": "28.3.3",
    "DockerRootDir": "/raid/docker",
    "ContainersRunning": 2,
    "Runtimes": {"runc": {"path": "runc"}, "nvidia": {"path": "nvidia-container-runtime"}},
    "CDISpecDirs": ["/etc/cdi", "/var/run/cdi"],
    "ClientInfo": CLIENT,
}
NO_ENGINE: dict[str, Any] = {
    "ServerErrors": [
        "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
    ],
    "ClientInfo": CLIENT,
}
ID = "sha256:" + "ab" * 32
DIGEST = "registry.example.com/train@sha256:" + "cd" * 32


def line(command: str, *words: str) -> str:
    return f"docker {shlex.join(command.split() + list(words))}"


INFO_LINE = line("info --format", "{{json .}}")
PS_LINE = line("ps --quiet --no-trunc")


def image_line(ref: str) -> str:
    return line("image inspect --format", IMAGE, "--", ref)


def commands(**others: dict[str, Any]) -> dict[str, Any]:
    trainer = ["/trainer", [{"Driver": "", "Count": -1, "Capabilities": [["gpu"]]}], None, "runc", False]
    inspected = "\n".join(map(json.dumps, (trainer, ["/redis", None, [], "runc", False])))
    return {
        INFO_LINE: answer(json.dumps(INFO) + "\n"),
        PS_LINE: answer("aaa\nbbb\n"),
        line("container inspect --format", INSPECT, "aaa", "bbb"): answer(inspected + "\n"),
        image_line("train:1"): answer(json.dumps([ID, [DIGEST]]) + "\n"),
        image_line("none:1"): answer("\n", "Error response from daemon: No such image: none:1\n", 1),
        **others,
    }


def test_whole(tmp_path: Path) -> None:
    files = {
        DAEMON: '{"default-ulimits": {"memlock": {"Name": "memlock", "Hard": -1, "Soft": -1}}}',
        "/etc/cdi/nvidia.yaml": "---\ncdiVersion: 0.5.0\nkind: nvidia.com/gpu\n",
    }
    host = OwnMachine({"files": files, "commands": commands()}, tmp_path)
    assert read_engine(host, ["docker"], ["train:1", "none:1", "train:1"]) == Engine(
        command=["docker"],
        version="28.3.3",
        running=True,
        compose="2.38.2",
        root_dir="/raid/docker",
        containers=2,
        gpu_containers=["trainer"],
        images={"train:1": Image(ID, [DIGEST]), "none:1": None},
        runtimes=["nvidia", "runc"],
        cdi=True,
        default_memlock=-1,
        memlock_source=DAEMON,
    )


@pytest.mark.parametrize(
    ("messages", "running", "why"),
    [
        (answer(json.dumps(NO_ENGINE), "errors pretty printing info", 1), False, NO_ENGINE["ServerErrors"][0]),
        (
            answer(
                json.dumps({"ServerErrors": ["permission denied while trying to connect to the Docker daemon socket"]}),
                "errors pretty printing info\n",
                1,
            ),
            None,
            "permission denied while trying to connect to the Docker daemon socket",
        ),
        (answer("", "sudo: a password is required\n", 1), None, "sudo: a password is required"),
        (answer("", "sudo: docker: command not found\n", 1), False, "sudo: docker: command not found"),
        (
            answer("", "WARNING: Error loading config file: open /home/ann/x\npermission denied while trying\n", 1),
            None,
            "permission denied while trying",
        ),
        (answer("[]\n"), None, "[]"),
        (answer(""), None, "no output"),
    ],
)
def test_an_engine_that_does_not_answer(
    tmp_path: Path, messages: dict[str, Any], running: bool | None, why: object
) -> None:
    host = OwnMachine({"commands": {**commands(), INFO_LINE: messages}}, tmp_path)
    result = read_engine(host, ["docker"], ["train:1"])
    assert result is not None
    assert (result.running, result.why, result.images, result.gpu_containers) == (running, why, {}, None)
    assert host.commands_run == [INFO_LINE]


# What commands answer, and which of them hang.
SILENT: dict[str, tuple[dict[str, Any], list[str]]] = {
    "no client": ({}, []),
    "a client that hangs": (commands(), ["docker info"]),
    "parts that hang or fail": (
        commands(**{image_line("odd:1"): answer("", "invalid reference format\n", 1)}),
        [image_line("train:1").replace("'", ""), "docker ps"],
    ),
}


def silent(host: OwnMachine) -> Engine | None:
    return read_engine(host, ["docker"], ["train:1", "odd:1", "none:1"])


@pytest.mark.parametrize(("name", "running"), [*zip(SILENT, (False, None, True))])
def test_what_hangs_or_fails_is_reported(tmp_path: Path, name: str, running: bool | None) -> None:
    answers, hangs = SILENT[name]
    result = silent(OwnMachine({"commands": answers}, tmp_path, hangs))
    assert result is not None and result.why
    assert (result.running, result.gpu_containers) == (running, None)
    assert result.images == ({"none:1": None} if running else {})


def test_nothing_runs(tmp_path: Path) -> None:
    host = OwnMachine({"commands": commands(**{PS_LINE: answer("")})}, tmp_path)
    result = read_engine(host, ["docker"], [])
    assert result is not None
    assert (result.gpu_containers, result.cdi, result.default_memlock) == ([], False, None)


@pytest.mark.parametrize(
    ("name", "text", "gpus"),
    [
        ("nvidia.yaml", "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices: []\n", True),
        ("nvidia.yml", 'kind: "nvidia.com/gpu"', True),
        ("nvidia.json", '{"cdiVersion":"0.5.0","kind":"nvidia.com/gpu","devices":[]}', True),
        ("nvidia.json.bak", '{"kind":"nvidia.com/gpu"}', False),
        ("nic.yaml", "kind: vendor.com/nic\n", False),
        ("mig.yaml", "kind: nvidia.com/gpu-of-another\n", False),
        ("amd.json", '{"kind": "amd.com/gpu", "annotations": {"instead of": "nvidia.com/gpu"}}', False),
        ("empty.yaml", "", False),
    ],
)
def test_gpus_by_cdi_are_those_of_a_specification(tmp_path: Path, name: str, text: str, gpus: bool) -> None:
    host = OwnMachine({"files": {f"/etc/cdi/{name}": text}, "commands": commands()}, tmp_path)
    result = read_engine(host, ["docker"], [])
    assert result is not None
    assert result.cdi is gpus


def test_a_tree_has_none(tmp_path: Path) -> None:
    host = Machine({"commands": commands()}, tmp_path)
    assert read_engine(host, ["docker"], []) is None
    assert host.commands_run == []


def test_this_machine() -> None:
    result = read_engine(Host(), ["docker"], ["no.such.registry.invalid/none:1"])
    assert result is not None
    if result.running:
        assert result.version and result.root_dir and result.images == {"no.such.registry.invalid/none:1": None}
    else:
        assert result.why


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", EngineInfo()),
        ("[1]", EngineInfo()),
        (
            '{"ServerVersion": 1, "ClientInfo": [], "Runtimes": [], "ContainersRunning": true, "CDISpecDirs": null}',
            EngineInfo(),
        ),
        (json.dumps({"ServerVersion": "", "ClientInfo": {"Plugins": [1, {"Name": "compose"}]}}), EngineInfo()),
    ],
)
def test_info(text: str, expected: EngineInfo) -> None:
    assert parse_info(text) == expected


def test_image() -> None:
    assert parse_image(f'["{ID}",null]') == Image(ID, [])
    assert parse_image(f'["{ID}",["b","a",1]]') == Image(ID, ["a", "b"])
    for text in ("", "[]", "[1,[]]", "{}", '["a"]'):
        assert parse_image(text) is None


@pytest.mark.parametrize(
    ("parts", "has_gpu"),
    [
        ([[{"Driver": "nvidia", "Capabilities": None}], None, "runc", False], True),
        ([[{"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=all"]}], None, "runc", False], True),
        (
            [[{"Driver": "cdi", "DeviceIDs": ["vendor.com/nic=0"], "Capabilities": [["gpu"]]}], None, "runc", False],
            False,
        ),
        ([None, [{"PathOnHost": "/dev/kfd"}, {"PathOnHost": "/dev/dri"}], "runc", False], True),
        ([None, [{"PathOnHost": "/dev/infiniband/uverbs0"}], "runc", False], False),
        ([None, None, "nvidia", None], True),
        ([None, None, "runc", True], True),
        ([[None], ["x"], None, None], False),
    ],
)
def test_containers_with_gpus(parts: list[Any], has_gpu: bool) -> None:
    text = json.dumps(["/one", *parts]) + "\nnonsense\n[]\n"
    assert parse_gpu_containers(text, True) == (["one"] if has_gpu else [])


def test_a_privileged_container_has_no_gpus_where_there_are_none() -> None:
    assert parse_gpu_containers('["/one",null,null,"runc",true]', False) == []


def test_memlock_of_the_process_that_starts_containers(tmp_path: Path) -> None:
    limits = "Limit                     Soft Limit           Hard Limit           Units\n"
    locked = "Max locked memory         {}           {}           bytes\n"
    files = {
        DAEMON: '{"default-ulimits": {}}',
        "/proc/12/comm": "dockerd\n",
        "/proc/12/limits": limits + locked.format(1024, 1024),
        "/proc/900/comm": "containerd\n",
        "/proc/900/limits": limits + locked.format("unlimited", "unlimited"),
        "/proc/901/comm": "containerd-shim\n",
    }
    assert default_memlock(Machine({"files": files}, tmp_path / "a")) == (-1, "/proc/900/limits of containerd")
    del files["/proc/900/limits"]
    assert default_memlock(Machine({"files": files}, tmp_path / "b")) == (1024, "/proc/12/limits of dockerd")
    assert default_memlock(Machine({}, tmp_path / "c")) == (None, None)


@pytest.mark.parametrize("text", ["", "[]", '"x"', '{"default-ulimits": {"memlock": {"Soft": true}}}', "[" * 100000])
def test_daemon_without_a_limit(text: str) -> None:
    assert parse_daemon(text) is None
