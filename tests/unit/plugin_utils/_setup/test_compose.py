# SPDX-License-Identifier: GPL-3.0-or-later
"""The compose file of a node: from its facts and its policy, without an environment, for every machine we know."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu, TopologyFile
from ansible_collections.muster.train.plugins.module_utils._system.device_nodes import read_devices
from ansible_collections.muster.train.plugins.plugin_utils._setup.compose import HEADER, Options, render
from ansible_collections.muster.train.tests.support.machines import MACHINES, load
from ansible_collections.muster.train.tests.support.plan_parts import facts

ROOT = Path(__file__).resolve().parents[4]
NODE = {"workdir": "/home/ann/muster", "code_dir": "/home/ann/muster/code"}
NVIDIA, AMD, NO_GPU = Gpu("nvidia", 8), Gpu("amd", 8), Gpu(None, 0)
ENGINE: dict[str, Any] = {"command": ["docker"], "running": True}


def device(path: str, gid: int = 0) -> dict[str, Any]:
    return {"path": path, "mode": "0660", "uid": 0, "gid": gid, "readable": True, "writable": True}


AMD_DEVICES = [device("/dev/kfd", 109), *(device(f"/dev/dri/renderD{128 + number}", 109) for number in range(2))]
RDMA = [device(f"/dev/infiniband/{name}") for name in ("issm0", "rdma_cm", "umad0", "uverbs0")]


def service(
    gpu: Gpu | None = NO_GPU, devices: list[dict[str, Any]] | None = None, cdi: bool | None = None, **changes: Any
) -> dict[str, Any]:
    """Render and read back; a change is an option."""
    options = Options(**{"project": "muster", "image": "train:1", **NODE, **changes})
    text = render(options, facts(0, devices=devices or [], engine={**ENGINE, "cdi": cdi}), gpu)
    assert text.startswith(HEADER)
    project = yaml.safe_load(text)
    assert list(project) == ["name", "services"]
    assert list(project["services"]) == ["train"]
    return dict(project["services"]["train"])


def bind(path: str, read_only: bool = False, target: str = "") -> dict[str, Any]:
    mount = {"type": "bind", "source": path, "target": target or path, "bind": {"create_host_path": False}}
    return {**mount, "read_only": True} if read_only else mount


def refusal(**changes: Any) -> str:
    with pytest.raises(ValueError, match=r".") as refused:
        service(**changes)
    return str(refused.value)


def test_the_role_hands_over_every_option() -> None:
    """An option that it left out would have its default here, whatever the inventory says."""
    variables = yaml.safe_load((ROOT / "roles/container/vars/main.yml").read_text())
    assert set(variables["container__options"]) == {option.name for option in dataclasses.fields(Options)}


def test_a_node_without_gpus() -> None:
    assert service() == {
        "image": "train:1",
        "network_mode": "host",
        "ipc": "host",
        "init": True,
        "restart": "no",
        "stop_grace_period": "75s",
        "working_dir": "/home/ann/muster/code",
        "shm_size": "16g",
        "ulimits": {"memlock": {"soft": -1, "hard": -1}, "stack": {"soft": 67108864, "hard": 67108864}},
        "cap_add": ["IPC_LOCK"],
        "volumes": [bind("/home/ann/muster")],
    }


def test_nvidia_by_cdi_where_the_engine_knows_it() -> None:
    assert service(NVIDIA, RDMA, cdi=True)["devices"] == [
        "nvidia.com/gpu=all",
        "/dev/infiniband/rdma_cm:/dev/infiniband/rdma_cm",
        "/dev/infiniband/umad0:/dev/infiniband/umad0",
        "/dev/infiniband/uverbs0:/dev/infiniband/uverbs0",
    ]
    assert "deploy" not in service(NVIDIA, cdi=True)


@pytest.mark.parametrize("cdi", [False, None])
def test_nvidia_by_deploy_elsewhere(cdi: bool | None) -> None:
    made = service(NVIDIA, cdi=cdi)
    asked = {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
    assert made["deploy"] == {"resources": {"reservations": {"devices": [asked]}}}
    assert "devices" not in made


def test_the_way_to_request_nvidia_gpus_can_be_set() -> None:
    assert service(NVIDIA, cdi=False, gpu_request="cdi")["devices"] == ["nvidia.com/gpu=all"]
    assert "deploy" in service(NVIDIA, cdi=True, gpu_request="deploy")


def test_amd_by_its_device_files_and_the_numbers_of_their_groups() -> None:
    made = service(AMD, [*AMD_DEVICES, device("/dev/dri/renderD200", 44), *RDMA])
    assert made["devices"][:4] == [
        f"{path}:{path}" for path in ("/dev/kfd", "/dev/dri/renderD128", "/dev/dri/renderD129", "/dev/dri/renderD200")
    ]
    assert made["devices"][4:] == [
        f"/dev/infiniband/{name}:/dev/infiniband/{name}" for name in ("rdma_cm", "umad0", "uverbs0")
    ]
    assert made["group_add"] == ["44", "109"]


def test_gpus_can_be_left_out() -> None:
    assert "devices" not in service(AMD, AMD_DEVICES, gpus="none")
    assert "devices" not in service(None, gpus="none")


def test_rights_only_where_they_are_asked_for() -> None:
    plain = service()
    assert not {"privileged", "security_opt", "user"} & set(plain)
    assert "cap_add" not in service(capabilities=[])
    assert service(profiling=True)["cap_add"] == ["IPC_LOCK", "SYS_PTRACE"]
    assert service(privileged=True)["privileged"] is True
    assert service(user="1000:1000")["user"] == "1000:1000"


def test_every_directory_is_mounted_at_its_own_path() -> None:
    made = service(
        code_dir="/srv/code",
        data_dirs=["/data/a", "/data/b"],
        topology_file="/etc/topo.xml",
        nccl_conf="/home/ann/nccl.conf",
        mounts=["/mnt:/mnt:ro"],
    )
    assert made["volumes"] == [
        bind("/home/ann/muster"),
        bind("/srv/code"),
        bind("/data/a", read_only=True),
        bind("/data/b", read_only=True),
        bind("/etc/topo.xml", read_only=True),
        bind("/home/ann/nccl.conf", read_only=True, target="/etc/nccl.conf"),
        "/mnt:/mnt:ro",
    ]
    assert made["working_dir"] == "/srv/code"


def test_the_topology_file_of_a_vm_is_mounted() -> None:
    path = "/opt/microsoft/ndv4-topo.xml"
    gpu = Gpu("nvidia", 8, topology_file=TopologyFile(path, "/etc/nccl.conf"))
    assert bind(path, read_only=True) in service(gpu)["volumes"]
    volumes = service(gpu, topology_file="/etc/topo.xml")["volumes"]
    assert bind("/etc/topo.xml", read_only=True) in volumes
    assert bind(path, read_only=True) not in volumes


def test_more_keys_of_the_service() -> None:
    made = service(options={"cap_add": ["NET_RAW"], "security_opt": ["seccomp=unconfined"], "tty": True})
    assert made["cap_add"] == ["IPC_LOCK", "NET_RAW"]
    assert (made["security_opt"], made["tty"]) == (["seccomp=unconfined"], True)


RELIED_ON = ("environment", "env_file", "restart", "privileged", "container_name", "command")
SECRETS: list[Any] = [{"HF_TOKEN": "hf_1"}, ["PROXY=x", "HF_TOKEN=hf_1"], {"HF_TOKEN": None}]
REFUSED: list[dict[str, Any]] = [
    *({"gpu": AMD}, {"gpu": None}, {"data_dirs": ["data"]}, {"image": ""}),
    *({"options": {name: "x"}} for name in RELIED_ON),
    *({"build": {"context": "/src", "args": args}} for args in SECRETS),
]


@pytest.mark.parametrize("options", REFUSED)
def test_what_no_container_can_have_is_refused_without_a_secret(options: dict[str, Any]) -> None:
    assert "hf_1" not in refusal(**options)


def test_compose_replaces_nothing_in_paths() -> None:
    assert service(workdir="/data/$HOME/x")["volumes"][0]["source"] == "/data/$$HOME/x"


@pytest.mark.parametrize("name", sorted(path.stem for path in MACHINES.glob("*.yml")))
def test_every_machine_has_a_file_with_its_devices_and_no_others(name: str, tmp_path: Path) -> None:
    devices = read_devices(load(name, tmp_path))
    vendor = "amd" if any(device.path == "/dev/kfd" for device in devices) else None
    made = service(Gpu(vendor, 8), [vars(device) for device in devices])
    named = [entry.split(":")[0] for entry in made.get("devices", [])]
    assert [path for path in named if path.startswith("/dev/infiniband")] == [
        device.path for device in devices if device.path.startswith("/dev/infiniband") and "issm" not in device.path
    ]
    assert "environment" not in json.dumps(made)


@pytest.mark.parametrize(
    ("name", "gpu", "devices"), [("rocm_aorta", AMD, [*AMD_DEVICES, *RDMA]), ("nvidia_ngc", NVIDIA, RDMA)]
)
def test_both_seeds_as_policies(name: str, gpu: Gpu, devices: list[dict[str, Any]]) -> None:
    policy = yaml.safe_load((ROOT / "examples/images" / f"{name}.yml").read_text(encoding="utf-8"))
    options = {key.removeprefix("container_"): value for key, value in policy.items() if key.startswith("container_")}
    made = service(gpu, devices, **options)
    assert made["image"] == policy["container_image"]
    assert (made["network_mode"], made["ipc"], made["init"], made["restart"]) == ("host", "host", True, "no")
    assert made["ulimits"]["memlock"] == {"soft": -1, "hard": -1}
    assert "privileged" not in made
    if name == "rocm_aorta":
        assert made["build"] == {
            "context": "/home/me/aorta/docker",
            "dockerfile": "Dockerfile.rocm70_9-1",
            "network": "host",
        }
        assert made["cap_add"] == ["IPC_LOCK", "SYS_PTRACE"]
        assert (made["shm_size"], made["group_add"], made["user"]) == ("17g", ["109"], "root")
        assert (made["security_opt"], made["stdin_open"], made["tty"]) == (["seccomp=unconfined"], True, True)


@pytest.mark.parametrize("args", [{"ROCM": "6.4"}, ["ROCM=6.4"], None])
def test_other_arguments_of_a_build_are_taken(args: Any) -> None:
    assert service(build={"context": "/src", "args": args})["build"]["args"] == args
