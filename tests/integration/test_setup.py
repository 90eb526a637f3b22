# SPDX-License-Identifier: GPL-3.0-or-later
"""Setup of nodes that need no change, or that refuse what it needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support.cluster import Cluster

INFINIBAND = Path("/sys/class/infiniband")
# Become runs its program even where the login is root already.
BECOME: dict[str, Any] = {"ANSIBLE_BECOME_ALLOW_SAME_USER": "true"}


@pytest.mark.skipif(INFINIBAND.is_dir() and any(INFINIBAND.iterdir()), reason="this machine has RDMA adapters")
def test_no_limit_is_raised_where_nothing_needs_it(cluster: Cluster) -> None:
    played = cluster.play("playbooks/setup.yml", "--tags", "memlock", ANSIBLE_CALLBACK_RESULT_FORMAT="json")
    assert played.rc == 0, played.out
    assert "no RDMA adapter: the limit of locked memory stays as it is" in played.out
    assert "Gather the limit of a login" not in played.out


def test_a_misspelled_variable_is_refused_before_anything_changes(cluster: Cluster) -> None:
    played = cluster.play("playbooks/setup.yml", "--tags", "code", "-e", "code_surce=rsync")
    assert played.rc == 2
    [line] = played.messages
    assert line.startswith("code_surce: unknown parameter (-e code_surce); did you mean 'code_source'? ")
    assert "Copy the code" not in played.out


def test_a_copy_without_a_source_is_refused(cluster: Cluster) -> None:
    """A refused launch names this command as the remedy: it must not succeed without having done anything."""
    played = cluster.play("playbooks/setup.yml", "--tags", "code")
    assert played.rc == 2, played.out
    assert "there is no code to copy, because code_source is none: set code_source to" in " ".join(played.out.split())


@pytest.mark.parametrize(
    ("text", "observed"),
    [
        (None, "not found"),
        ("", "Permission denied"),
        ("#!/bin/sh\necho 'sudo: a password is required' >&2; exit 1\n", "without a password"),
    ],
)
def test_sudo_that_does_not_work_is_named(cluster: Cluster, text: str | None, observed: str) -> None:
    sudo = cluster.home / "sudo"
    if text is not None:
        sudo.write_text(text)
        sudo.chmod(0o755 if text else 0o644)
    cluster.policy |= {"ansible_become_exe": str(sudo), "memlock_limit": "8MiB"}
    cluster.write()
    played = cluster.play("playbooks/setup.yml", "--tags", "memlock", **BECOME)
    assert played.rc == 2
    [line] = played.messages
    assert line.startswith(("node0: sudo: ", "node1: sudo: "))
    assert observed in line
    assert "Premature end of stream" not in played.out
