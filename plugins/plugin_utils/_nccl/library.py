# SPDX-License-Identifier: GPL-3.0-or-later
"""Which collective library a node's ranks will load: NCCL or RCCL, and its version."""

from __future__ import annotations

import re
from typing import Literal

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts
from ansible_collections.muster.train.plugins.module_utils._records.system import Versions

# RCCL's version by ROCm release (its CHANGELOG.md): the librccl.so of torch's ROCm wheels has no version.
RCCL_OF_ROCM = """
    5.0:2.10.3 5.1:2.11.4 5.2:2.11.4 5.3:2.12.10 5.4:2.13.4 5.5:2.15.5 5.6:2.16.2 5.7:2.17.1
    6.0:2.18.3 6.1:2.18.6 6.2:2.20.5 6.3:2.21.5 6.4:2.22.3 7.0:2.26.6 7.1:2.27.7 7.2:2.27.7"""


@frozen
class Library:
    """A library and its version, (major, minor, patch) or None if unknown; source is where the version is from."""

    name: Literal["nccl", "rccl"]
    version: tuple[int, ...] | None
    source: str = ""


def library_of(facts: NodeFacts, gpu: Gpu | None) -> Library:
    """Choose the library by the node's torch, else by its GPUs; without either it is NCCL of unknown version."""
    versions = facts.versions or Versions()
    if versions.torch_hip or (gpu is not None and gpu.vendor == "amd" and not versions.torch_cuda):
        return _rccl(versions)
    return Library("nccl", numbers(versions.nccl), versions.sources.get("nccl", "") if versions.nccl else "")


def _rccl(versions: Versions) -> Library:
    if versions.rccl:
        return Library("rccl", numbers(versions.rccl), versions.sources.get("rccl", ""))
    known = dict(pair.split(":") for pair in RCCL_OF_ROCM.split())
    for name, version in (("torch_hip", versions.torch_hip), ("rocm", versions.rocm)):
        release = ".".join(map(str, (numbers(version) or ())[:2]))
        if release in known:
            return Library("rccl", numbers(known[release]), f"{versions.sources.get(name, name)}: ROCm {release}")
    return Library("rccl", None)


def numbers(version: str | None) -> tuple[int, ...] | None:
    """Return the leading numbers of a version, (2, 21, 5) for 2.21.5+cuda12.4, or None."""
    match = re.match(r"[0-9]{1,9}(?:\.[0-9]{1,9})*", version or "")
    return tuple(int(part) for part in match.group().split(".")) if match else None
