# SPDX-License-Identifier: GPL-3.0-or-later
"""All facts of a node together."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import BinaryIO

import pytest

from ansible_collections.muster.train.plugins.module_utils._facts.gather import gather
from ansible_collections.muster.train.plugins.module_utils._facts.query import FactsQuery
from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.module_utils._records.node import Config, File, TrainingPython
from ansible_collections.muster.train.plugins.module_utils._records.subsets import SUBSETS
from ansible_collections.muster.train.plugins.module_utils._records.system import Disk, Memlock
from ansible_collections.muster.train.tests.support.machines import MACHINES, Machine, load


def test_laptop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("PATH", "/usr/bin")
    asked = FactsQuery(
        "/home/me/muster", "/home/me/code", files=("train.py", "no.py"), config="configs/tiny.yaml", ports=(29500,)
    )
    gathered = gather(load("laptop", tmp_path), asked)
    facts = gathered.node
    assert gathered.warnings == []
    assert gathered.gpu == Gpu(None, 0)
    assert gathered.rdma is not None
    assert (gathered.rdma.usable, gathered.rdma.hcas) == (False, [])
    assert (facts.hostname, facts.cpus) == ("laptop", 8)
    assert (facts.user.uid, facts.user.home) == (os.geteuid(), "/home/me")
    assert facts.python == TrainingPython("python3", None)
    assert facts.files is not None
    assert [(asked, result.path, result.readable) for asked, result in facts.files.items()] == [
        ("train.py", "/home/me/code/train.py", True),
        ("no.py", "/home/me/code/no.py", False),
    ]
    assert facts.config == Config("/home/me/code/configs/tiny.yaml", "steps: 10\n")
    assert facts.net is not None
    assert facts.net.holders["29500"].run_id == "multinode_20261120_143052"
    assert facts.memlock == Memlock(8388608, 8388608, None, 8388608)
    assert facts.limits is not None
    assert facts.limits["nofile"].hard == 1048576
    assert facts.container is not None
    assert facts.container.kind is None
    assert facts.disks is not None
    assert [(disk.path, disk.filesystem) for disk in facts.disks] == [
        (path, "btrfs") for path in ("/home/me/muster", "/home/me/code", "/dev/shm", "/tmp")
    ]
    assert [disk.path for disk in facts.disks if disk.is_workdir] == ["/home/me/muster"]
    assert None not in (facts.versions, facts.tools, facts.kernel)
    assert set(facts.timings) == {*SUBSETS, "workdir", "python"}
    assert facts.code is not None
    assert facts.code.branch == "main"
    assert facts.holder is None
    assert facts.workdir.identity is not None
    assert facts.workdir.identity.startswith(f"{facts.machine_id}/{facts.boot_id}/")


def test_only_what_was_asked_for(tmp_path: Path) -> None:
    laptop = load("laptop", tmp_path)
    gathered = gather(laptop, FactsQuery("/w", "/home/me/code", config="c.yaml", subset=("kernel",)))
    facts = gathered.node
    assert facts.kernel is not None
    assert set(facts.timings) == {"workdir", "python", "kernel"}
    assert (facts.net, facts.code, facts.files, facts.config, facts.memlock, facts.limits) == (None,) * 6
    assert (facts.container, facts.disks, facts.versions, facts.tools, facts.holder) == (None,) * 5
    assert (gathered.rdma, gathered.gpu, laptop.commands_run, gathered.warnings) == (None, None, [], [])


def test_rdma_and_gpu_are_facts_of_their_own_when_they_are_asked_for(tmp_path: Path) -> None:
    asked = FactsQuery("/w", "/c", subset=("gpu", "rdma"))
    facts = gather(load("hgx_h100", tmp_path), asked).to_facts(asked)
    assert list(facts) == ["node", "rdma", "gpu"]
    assert (facts["gpu"]["vendor"], facts["gpu"]["count"]) == ("nvidia", 8)
    assert [hca["name"] for hca in facts["rdma"]["hcas"]]
    none = FactsQuery("/w", "/c", subset=())
    assert list(gather(load("hgx_h100", tmp_path / "again"), none).to_facts(none)) == ["node"]


def test_no_files_asked_for(tmp_path: Path) -> None:
    facts = gather(load("laptop", tmp_path), FactsQuery("/w", "/c", subset=("files",))).node
    assert facts.files == {}
    assert facts.config is None


def test_a_container_says_what_it_could_not_see(tmp_path: Path) -> None:
    gathered = gather(load("container", tmp_path), FactsQuery("/workspace", "/workspace", subset=("net", "limits")))
    assert gathered.node.memlock is None
    assert gathered.node.net is not None
    assert gathered.node.net.addresses == []
    assert len(gathered.warnings) == 3


def test_a_machine_that_says_nothing(tmp_path: Path) -> None:
    gathered = gather(Machine({}, tmp_path), FactsQuery("/w", "/c"))
    facts = gathered.node
    assert (facts.cpus, facts.machine_id, facts.workdir.identity) == (1, None, None)
    assert gathered.warnings
    assert not [warning for warning in gathered.warnings if "could not be read" in warning]


class Hung(Machine):
    """A machine whose work directory lies on a file server that is gone."""

    released = threading.Event()

    def _stat(self, path: str) -> os.stat_result | None:
        if path.startswith("/nfs"):
            self.released.wait()
        return super()._stat(path)

    def _open(self, path: str) -> BinaryIO:
        if path == "/proc/net/route":
            raise RuntimeError("a mistake of ours")
        return super()._open(path)


def test_a_subset_that_hangs_or_fails_is_null_and_the_rest_is_returned(tmp_path: Path) -> None:
    laptop = Hung({"files": {"/proc/self/status": "Cpus_allowed_list:\t0-3\n", "/data/x": "y"}}, tmp_path)
    asked = FactsQuery("/nfs/me/muster", "/data", files=("x",), subset=("net", "files", "disk"))
    gathered = gather(laptop, asked, cap=1.0)
    Hung.released.set()
    facts = gathered.node
    assert (facts.workdir.path, facts.workdir.identity, facts.workdir.writable) == ("/nfs/me/muster", None, False)
    assert facts.net is None
    assert facts.files is not None
    assert isinstance(facts.files["x"], File)
    assert facts.files["x"].readable
    assert facts.disks is not None
    assert facts.disks[0] == Disk("/nfs/me/muster", is_workdir=True)
    assert [disk.path for disk in facts.disks if disk.size_bytes] == ["/data", "/dev/shm", "/tmp"]
    assert (facts.timings["workdir"], facts.timings["disk"]) == (1000, 1000)
    assert facts.timings["net"] < 1000
    assert [warning.partition(":")[0] for warning in gathered.warnings] == ["workdir", "net", "disk /nfs/me/muster"]


def test_every_machine_of_the_collection_is_read_without_a_mishap(tmp_path: Path) -> None:
    names = [path.stem for path in MACHINES.glob("*.yml")]
    assert len(names) >= 4
    for name in names:
        gathered = gather(load(name, tmp_path / name), FactsQuery("/w", "/c", ports=(22,)))
        assert not [warning for warning in gathered.warnings if "could not be read" in warning]
