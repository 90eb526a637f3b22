# SPDX-License-Identifier: GPL-3.0-or-later
"""What the integration tests share."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support import k8s_lab, real_hosts, slurm_cluster, sshd
from ansible_collections.muster.train.tests.support.cluster import Cluster
from ansible_collections.muster.train.tests.support.slurm_cluster import SlurmCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Two local nodes whose ranks only sleep and write metrics: no torch, so a launch takes seconds."""
    made = Cluster(tmp_path)
    yield made
    made.destroy()


@pytest.fixture(scope="module")
def server() -> Iterator[sshd.Sshd]:
    """An sshd for the tests of a file."""
    with tempfile.TemporaryDirectory(prefix="muster-") as base, sshd.running(Path(base)) as started:
        yield started


@pytest.fixture(scope="module")
def slurm() -> Iterator[SlurmCluster]:
    """A Slurm cluster for the tests of a file."""
    with tempfile.TemporaryDirectory(prefix="muster-") as base, slurm_cluster.running(Path(base)) as started:
        yield started


@pytest.fixture(scope="module")
def lab() -> Iterator[k8s_lab.Lab]:
    """A Kubernetes cluster for the tests of a file."""
    with tempfile.TemporaryDirectory(prefix="muster-") as base, k8s_lab.running(Path(base)) as started:
        yield started


@pytest.fixture(scope="session")
def real_inventory() -> Iterator[Path]:
    """The inventory of three real hosts that are alike, made once for all tests and removed after the last."""
    yield from _made(real_hosts.ALIKE)


@pytest.fixture(scope="session")
def mixed_inventory() -> Iterator[Path]:
    """The inventory of three real hosts with different releases of Debian, and so of Python."""
    yield from _made(real_hosts.MIXED)


@pytest.fixture(scope="session")
def single_inventory() -> Iterator[Path]:
    """The inventory of one real host, whatever MUSTER_TEST_INVENTORY names: that has three."""
    yield from _created(real_hosts.SINGLE)


def _made(hosts: real_hosts.Hosts) -> Iterator[Path]:
    """Make the hosts and remove them; those that MUSTER_TEST_INVENTORY names, of another tests/cluster, stay."""
    named = os.environ.get("MUSTER_TEST_INVENTORY")
    if named:
        inventory = Path(named).resolve()
        assert inventory.is_dir(), f"MUSTER_TEST_INVENTORY: {inventory} does not exist"
        yield inventory
    else:
        yield from _created(hosts)


def _created(hosts: real_hosts.Hosts) -> Iterator[Path]:
    """Create the hosts, and remove them in the end."""
    why_not = real_hosts.why_not()
    if why_not:
        pytest.skip(why_not)
    try:
        hosts.play("create")
        yield hosts.inventory
    finally:
        hosts.play("destroy")
