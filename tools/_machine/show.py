# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines as text through the readers and the resolver, as one cluster."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._facts.gather import Gathered, gather
from ansible_collections.muster.train.plugins.module_utils._facts.query import FactsQuery
from ansible_collections.muster.train.plugins.module_utils._records.node import Net
from ansible_collections.muster.train.plugins.module_utils._records.subsets import IDENTITY
from ansible_collections.muster.train.plugins.plugin_utils._checks.gpu_findings import find_gpus
from ansible_collections.muster.train.plugins.plugin_utils._cluster import head_address
from ansible_collections.muster.train.plugins.plugin_utils._cluster.address import is_address
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import Layer, Origin
from ansible_collections.muster.train.plugins.plugin_utils._nccl.environments import (
    Environments,
    Users,
    decide,
    view_of,
)
from ansible_collections.muster.train.plugins.plugin_utils._nccl.library import Library, library_of, numbers
from ansible_collections.muster.train.plugins.plugin_utils._nccl.view import FabricPolicy
from ansible_collections.muster.train.tools._machine.arguments import Parser, complain
from ansible_collections.muster.train.tools._machine.machine import Machine
from ansible_collections.muster.train.tools._machine.manifest import Manifest, ManifestError, read

MODES = ("auto", "rdma", "tcp")
# What a launch asks for, as far as any machine can answer.
# How a node is today is nothing to show, and nothing to keep: logs and processes are private.
ASKED = FactsQuery(workdir="/home/ann/muster", code_dir="/home/ann/muster/code", subset=IDENTITY)
NO_NET = Net(addresses=[], routes=[], listening=[], holders={})


@dataclasses.dataclass(frozen=True)
class Options:
    """What may be said beside the machines; None is as found."""

    library: str | None = None
    version: tuple[int, ...] | None = None
    mode: str = "auto"
    head: str | None = None


def cluster_of(manifests: Mapping[str, Manifest]) -> dict[str, Gathered]:
    """Read the machines; raises ManifestError."""
    return {name: _gather(name, manifest) for name, manifest in manifests.items()}


def resolved(cluster: Mapping[str, Gathered], options: Options) -> tuple[Environments, list[Finding]]:
    """Decide the environment of a cluster, its first machine the head; all findings, those of GPUs and lint too."""
    head = next(iter(cluster))
    net = cluster[head].node.net or NO_NET
    address, findings = head_address.choose_address(head, options.head or "", "", net, together=False)
    nodes = [
        view_of(Node(name, gathered.node, gathered.rdma, gathered.gpu), library(gathered, options))
        for name, gathered in cluster.items()
    ]
    environments = decide(nodes, Users(FabricPolicy(options.mode, Origin(Layer.EXTRA_VARS, "--mode"))), address.value)
    for node in nodes:
        if node.gpu is not None:
            findings += find_gpus(node.name, node.gpu)
    return environments, [*findings, *environments.findings]


def show(manifests: Mapping[str, Manifest], options: Options) -> dict[str, Any]:
    """Return by name what each machine of a cluster is, and what would be set there; the first is the head."""
    cluster = cluster_of(manifests)
    environments, findings = resolved(cluster, options)
    return {
        name: {
            "about": manifests[name].about,
            "rdma": gathered.rdma and gathered.rdma.to_dict(),
            "gpu": gathered.gpu and gathered.gpu.to_dict(),
            "node": gathered.node.to_dict(),
            "library": _named(library(gathered, options)),
            "fabric": dataclasses.asdict(environments.fabric),
            "env": {
                variable.name: {key: getattr(variable, key) for key in ("value", "rule", "reason", "origin")}
                for variable in environments.nodes[name].variables
            },
            "not_set": {left.name: left.reason for left in environments.nodes[name].not_set},
            # Those of the whole cluster, too.
            "findings": [finding.to_dict() for finding in findings if finding.node in (name, None)],
            "warnings": gathered.warnings,
        }
        for name, gathered in cluster.items()
    }


def _gather(name: str, manifest: Manifest) -> Gathered:
    with tempfile.TemporaryDirectory(prefix="machine-") as folder:
        try:
            machine = Machine(manifest, Path(folder))
        except ManifestError as error:
            raise ManifestError(f"{name}: {error}") from None
        return gather(machine, ASKED)


def library(gathered: Gathered, options: Options) -> Library:
    """Return the library that the ranks load, as asked for or as found."""
    result = library_of(gathered.node, gathered.gpu)
    if options.library is not None and options.library != result.name:
        result = Library("rccl" if options.library == "rccl" else "nccl", None)
    return (
        result if options.version is None else dataclasses.replace(result, version=options.version, source="--version")
    )


def _named(ranks_library: Library) -> dict[str, str | None]:
    return {
        "name": ranks_library.name,
        "version": ".".join(map(str, ranks_library.version or ())) or None,
        "source": ranks_library.source,
    }


def main(arguments: Sequence[str]) -> int:
    """Print the document of some files; what is wrong with the files or options is one line and exit code 2."""
    parser = Parser(
        prog="machine.py show", description="Show what the collection detects on recorded machines, as one cluster."
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a machine; the first is the head")
    parser.add_argument("--library", choices=("nccl", "rccl"), help="what the ranks load (default: by the GPUs)")
    parser.add_argument("--version", metavar="2.23.4", help="the library's version (default: as found)")
    parser.add_argument("--mode", choices=MODES, default="auto", help="the fabric (default: auto)")
    parser.add_argument("--head", metavar="ADDRESS", help="the head's address (default: as a launch chooses it)")
    given = parser.parse_args(arguments)
    version = numbers(given.version)
    if given.version is not None and version is None:
        return complain(parser.prog, f"--version: {given.version!r} is not a version such as 2.23.4")
    if given.head is not None and not is_address(given.head):
        return complain(parser.prog, f"--head: {given.head!r} is not an IP address")
    try:
        document = show(_read(given.files), Options(given.library, version, given.mode, given.head))
    except ManifestError as error:
        return complain(parser.prog, str(error))
    try:
        print(json.dumps(document, indent=2), flush=True)
    except BrokenPipeError:  # as with `| head`: whoever read has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _read(files: Sequence[str]) -> dict[str, Manifest]:
    """Read the files by their names as given; a file given again is another node."""
    manifests: dict[str, Manifest] = {}
    for file in files:
        name, number = file, 2
        while name in manifests:
            name, number = f"{file}#{number}", number + 1
        try:
            manifests[name] = read(Path(file).read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise ManifestError(f"{file}: is not UTF-8") from None
        except (OSError, ValueError) as error:
            raise ManifestError(f"{file}: {getattr(error, 'strerror', None) or error}") from None
        except ManifestError as error:
            raise ManifestError(f"{file}: {error}") from None
    return manifests
