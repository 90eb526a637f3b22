# SPDX-License-Identifier: GPL-3.0-or-later
"""What the readers of a node say of what they cannot read or use: tests/screens/messages/readers.txt."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.tests.support import rdma_ports
from ansible_collections.muster.train.tests.support.screens import Message, kept, page_of
from ansible_collections.muster.train.tests.unit.module_utils._rdma import (
    test_broken_trees,
    test_devices,
    test_ports,
    test_uverbs,
)

RDMA = {
    **test_broken_trees.UNREADABLE,
    "a device that is a loop of links": test_broken_trees.loop_of_links(),
    **{name: tree.manifest for name, tree in test_ports.UNUSABLE.items()},
    "devices in software": test_devices.software(),
    "a pod": test_devices.pod(),
}


def of_rdma(manifest: dict[str, Any], root: Path) -> Iterator[str]:
    """What is said of a machine's RDMA devices, and why each port is not usable."""
    rdma, warnings = rdma_ports.read(manifest, root)
    yield from warnings
    yield from (f"{hca.name}: {reason}" for hca in rdma.hcas for port in hca.ports for reason in port.reasons)


def messages(roots: Iterator[Path]) -> Iterator[Message]:
    for name, manifest in RDMA.items():
        yield f"RDMA: {name}", of_rdma(manifest, next(roots))
    for name, manifest in test_uverbs.CLOSED.items():
        yield f"uverbs: {name}", [str(test_uverbs.node_of(manifest, next(roots))[1])]


def test_what_readers_say(tmp_path: Path) -> None:
    text = page_of(messages(tmp_path / str(number) for number in itertools.count()))
    assert text == kept("messages/readers.txt", text)
