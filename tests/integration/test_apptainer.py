# SPDX-License-Identifier: GPL-3.0-or-later
"""The runtime apptainer with a real Apptainer: ranks of two nodes in a SIF, and what a launch refuses."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._container.apptainer import read_apptainer
from ansible_collections.muster.train.plugins.module_utils._host.live import LiveHost
from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.image import open_script
from ansible_collections.muster.train.plugins.plugin_utils._plan.runtimes.apptainer import ENTER
from ansible_collections.muster.train.tests.support import apptainer_image
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for
from ansible_collections.muster.train.tests.unit.module_utils.runner.attempt.test_image import random_value

WHY_NOT = apptainer_image.missing()
pytestmark = [
    # The image is made once for a checkout.
    pytest.mark.timeout(600),
    pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT)),
]
TELL = """\
import json, os, sys
import torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
names = ("NCCL_DEBUG", "OF_IMAGE", "OF_LOGIN", "TOKEN", "TRICKY", "APPTAINER_NAME", "PYTHONPATH")
reports = {**{name: os.environ.get(name) for name in names}, "sum": total.item(), "data": os.listdir("/data")}
with open(os.path.join(os.environ["MUSTER_OUTPUT_DIR"], "told_" + os.environ["RANK"] + ".json"), "w") as stream:
    json.dump(reports, stream)
dist.destroy_process_group()
"""
TRICKY = 'it\'s $HOME `id` \\ "q" # ü'


@pytest.fixture(scope="module")
def sif() -> Path:
    return apptainer_image.image()


@pytest.fixture
def boxed(sif: Path, tmp_path: Path) -> Iterator[Cluster]:
    """Two nodes of this machine whose ranks run in the image."""
    for name in ("code", "data"):
        (tmp_path / name).mkdir()
    (tmp_path / "code" / "tell.py").write_text(TELL)
    (tmp_path / "data" / "shard").write_text("")
    policy = {
        "launch_runtime": "apptainer",
        "launch_image": str(sif),
        "launch_python": "python3",
        "launch_binds": [apptainer_image.PACKAGES, f"{tmp_path}/data:/data:ro"],
        "launch_env": {"PYTHONPATH": apptainer_image.PACKAGES, "NCCL_DEBUG": "WARN", "TRICKY": TRICKY},
        "launch_secrets": {"TOKEN": "planted-5d41402abc4b2a76"},
    }
    made = Cluster(tmp_path, policy=policy)
    yield made
    made.destroy()


def changed(cluster: Cluster, **policy: Any) -> Cluster:
    """The cluster with another policy."""
    cluster.policy.update(policy)
    cluster.write()
    return cluster


def refusal(cluster: Cluster) -> str:
    """What a launch says that is refused, in one line."""
    refused = cluster.launch()
    assert refused.rc == 2, refused.out
    assert cluster.processes() == []
    return " ".join(refused.out.split())


def test_four_ranks_train_in_the_image_with_the_plans_environment(
    boxed: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_LOGIN", "yes")
    changed(boxed, launch_code_dir=str(tmp_path / "code"))
    launched = boxed.launch(follow=True, launcher="torchrun", script="tell.py", nproc=2)
    assert launched.rc == 0, launched.out
    reports = [json.loads(path.read_text()) for path in sorted((boxed.experiments / RUN_ID).rglob("told_*.json"))]
    paths = [item.pop("PYTHONPATH").split(":") for item in reports]
    expected = {"NCCL_DEBUG": "WARN", "OF_IMAGE": "yes", "OF_LOGIN": None, "TOKEN": "planted-5d41402abc4b2a76"}
    expected |= {"TRICKY": TRICKY, "APPTAINER_NAME": "train.sif"}
    assert reports == [{**expected, "sum": 4.0, "data": ["shard"]}] * 4
    # The image's own part stays, behind the plan's.
    assert [path[1:] for path in paths] == [[apptainer_image.PACKAGES, "/of/image"]] * 4
    assert (boxed.record()["verdict"], boxed.processes()) == ("succeeded", [])
    plan = (boxed.experiments / RUN_ID / "plan.json").read_text()
    assert "planted-5d41402abc4b2a76" not in plan + launched.out


@pytest.mark.parametrize("options", [[], ["--userns"]], ids=["as root", "in a user namespace"])
def test_a_stop_leaves_no_process(boxed: Cluster, options: list[str]) -> None:
    changed(boxed, launch_apptainer_options=options)
    launched = boxed.launch(script_args="--seconds 600")
    assert launched.rc == 0, launched.out
    wait_for(lambda: all(boxed.metrics(node) for node in boxed.names), "the ranks write")
    # Apptainer's own processes carry no mark: what mounts the image, in the launcher's session.
    sessions = {boxed.state(node)["launcher"]["pid"] for node in boxed.names}
    assert {process.session for process in process_tree.every()} >= sessions
    stacks = boxed.verb("stacks")
    assert "main (sleeper.py:" in stacks.out, stacks.out
    assert boxed.verb("stop").rc == 0
    assert [boxed.state(node)["phase"] for node in boxed.names] == ["stopped"] * 2
    assert boxed.processes() == []
    assert [process for process in process_tree.every() if process.session in sessions] == []


def test_a_runner_that_is_killed_leaves_no_rank(boxed: Cluster) -> None:
    launched = boxed.launch(script_args="--seconds 600")
    assert launched.rc == 0, launched.out
    wait_for(lambda: all(boxed.metrics(node) for node in boxed.names), "the ranks write")
    os.kill(boxed.state("node1")["pid"], signal.SIGKILL)
    wait_for(lambda: boxed.processes() == [], "both nodes are empty")
    assert boxed.state("node0")["end"]["verdict"] == "lost"


def test_a_rank_that_fails_ends_the_run(boxed: Cluster) -> None:
    failed = boxed.launch(follow=True, script_args="--seconds 600 --fail-rank 0 --how exit7")
    assert failed.rc == 2, failed.out
    assert [boxed.state(node)["phase"] for node in boxed.names] == ["failed", "stopped"]
    assert (boxed.record()["verdict"], boxed.processes()) == ("failed", [])


def test_an_image_that_is_missing_on_one_node_is_refused_by_name(boxed: Cluster, sif: Path) -> None:
    boxed.per_node["node1"] = {"launch_image": "/none/train.sif"}
    message = refusal(changed(boxed))
    assert "node1: apptainer: /none/train.sif does not exist" in message
    assert "muster.train.setup --tags apptainer" in message
    assert "node0: apptainer" not in message


def test_an_image_without_the_interpreter_is_refused(boxed: Cluster, sif: Path) -> None:
    assert f"apptainer: {sif} has no python9" in refusal(changed(boxed, launch_python="python9"))


def test_a_bind_without_its_source_is_refused(boxed: Cluster) -> None:
    assert "binds: /none not found" in refusal(changed(boxed, launch_binds=["/none:/data"]))


def test_a_node_without_apptainer_is_refused(boxed: Cluster) -> None:
    assert "apptainer: /none/apptainer was not found" in refusal(changed(boxed, launch_apptainer=["/none/apptainer"]))


def test_what_is_no_image_is_refused(boxed: Cluster, tmp_path: Path) -> None:
    (tmp_path / "torn.sif").write_text("SIF")
    message = refusal(changed(boxed, launch_image=str(tmp_path / "torn.sif")))
    assert f"apptainer: nothing can be run in {tmp_path}/torn.sif: " in message


def test_every_value_arrives_in_an_image(sif: Path) -> None:
    rng = random.Random(19)
    wanted = {f"V{number}": random_value(rng) for number in range(500)}
    script = open_script({**wanted, "NCCL_DEBUG": "plan"})
    argv = ["apptainer", "exec", "--cleanenv", str(sif), "/bin/sh", "-c", ENTER, "muster", "/usr/bin/env", "-0"]
    try:
        done = subprocess.run(argv, stdin=script, stdout=subprocess.PIPE, check=True)
    finally:
        os.close(script)
    read = dict(entry.split("=", 1) for entry in os.fsdecode(done.stdout).split("\0") if entry)
    assert {name: read.get(name) for name in wanted} == wanted
    assert (read["NCCL_DEBUG"], read["OF_IMAGE"]) == ("plan", "yes")


def test_an_unpacked_image_is_read_as_well(sif: Path, tmp_path: Path) -> None:
    host, binds = LiveHost("/"), [f"{tmp_path}:/data"]
    packed, unpacked = (
        read_apptainer(host, ["apptainer"], [], str(image), "python3", str(tmp_path), [*binds, "/none"])
        for image in (sif, apptainer_image.unpacked())
    )
    assert (packed.has_python, unpacked.has_python) == (True, True)
    assert packed.python == unpacked.python
    assert packed.variables == {"NCCL_DEBUG": "FROM_IMAGE"}
    assert (len(packed.identity or ""), unpacked.identity) == (32, None)
    assert {str(tmp_path): True, "/none": False}.items() <= packed.binds.items()


def write_docker_archive(path: Path) -> None:
    """Write an image without Python as `docker save` does: a shell, and the C library that it needs."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as layer:
        for name in ("bin", "lib64", "lib", "lib/x86_64-linux-gnu", "usr", "etc", "tmp", "root", "proc", "sys", "dev"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            layer.addfile(folder)
        for name in ("bin/sh", "lib/x86_64-linux-gnu/libc.so.6", "lib64/ld-linux-x86-64.so.2"):
            layer.add(os.path.realpath(f"/{name}"), name)
    data = stream.getvalue()
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    config = {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [digest]}}
    manifest = [{"Config": "config.json", "RepoTags": ["bare:1"], "Layers": ["layer.tar"]}]
    files = {"config.json": json.dumps(config).encode(), "manifest.json": json.dumps(manifest).encode()}
    with tarfile.open(path, "w") as archive:
        for name, content in {**files, "layer.tar": data}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def test_setup_builds_an_image_once_and_copies_it(boxed: Cluster, tmp_path: Path) -> None:
    write_docker_archive(tmp_path / "bare.tar")
    changed(
        boxed,
        launch_image=f"{tmp_path}/images/{{{{ inventory_hostname }}}}/bare.sif",
        apptainer_source=f"docker-archive:{tmp_path}/bare.tar",
        apptainer_cache=str(tmp_path / "cache"),
        ansible_async_dir=str(tmp_path / "async"),  # HOME may not be the user's home, where Ansible looks for the job
    )
    images = [tmp_path / "images" / node / "bare.sif" for node in boxed.names]
    checked = boxed.play("playbooks/setup.yml", "--tags", "apptainer", "--check")
    assert (checked.rc, images[0].exists()) == (0, False), checked.out
    made = boxed.play("playbooks/setup.yml", "--tags", "apptainer")
    assert made.rc == 0, made.out
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in images]
    assert digests[0] == digests[1]
    times = [path.stat().st_mtime_ns for path in images]
    again = boxed.play("playbooks/setup.yml", "--tags", "apptainer")
    assert (again.rc, [path.stat().st_mtime_ns for path in images]) == (0, times), again.out
    # An image without Python is refused, on both nodes at once.
    assert "has no python3" in refusal(boxed)
    # One of another build is replaced.
    shutil.copy(apptainer_image.image(), images[1])
    assert "image file" in refusal(boxed)
    assert boxed.play("playbooks/setup.yml", "--tags", "apptainer").rc == 0
    assert hashlib.sha256(images[1].read_bytes()).hexdigest() == digests[0]


def test_setup_refuses_an_image_that_it_cannot_provide(boxed: Cluster, tmp_path: Path) -> None:
    played = boxed.play("playbooks/setup.yml", "--tags", "apptainer", "-e", f"launch_image={tmp_path}/none.sif")
    assert played.rc == 2, played.out
    message = " ".join(played.out.split())
    assert f"node0: the image {tmp_path}/none.sif does not exist; expected it on every node." in message


def test_setup_copies_a_sif_and_refuses_a_builder_that_is_no_node(boxed: Cluster, sif: Path, tmp_path: Path) -> None:
    image = tmp_path / "images" / "train.sif"
    changed(boxed, launch_image=str(image), apptainer_source=str(sif))
    refused = boxed.play("playbooks/setup.yml", "--tags", "apptainer", "-e", "apptainer_builder=node9")
    assert refused.rc == 2, refused.out
    assert "node9, on which the image is built, is not among the nodes" in " ".join(refused.out.split())
    checked = boxed.play("playbooks/setup.yml", "--tags", "apptainer", "--check")
    assert (checked.rc, image.exists()) == (0, False), checked.out
    assert boxed.play("playbooks/setup.yml", "--tags", "apptainer").rc == 0
    assert image.read_bytes() == sif.read_bytes()
