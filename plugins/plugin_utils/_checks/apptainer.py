# SPDX-License-Identifier: GPL-3.0-or-later
"""Does Apptainer run the image of the ranks, and is everything there that is bound into it?"""

from __future__ import annotations

import shlex

from ansible_collections.muster.train.plugins.module_utils._records.oldest_python import EXPECTED_PYTHON, OLDEST_PYTHON
from ansible_collections.muster.train.plugins.module_utils._records.system import Apptainer

from .._cluster.node import Node
from .._findings.remedy import Remedy, sentence
from .._nccl.ports import usable
from .._request.verbs import BY_TORCHRUN
from .._text.table import names
from .model import Cluster, Outcome, failed, passed, skipped, unavailable

NOT_USED = "the ranks run without Apptainer"
IMAGE, BINDS, OPTIONS = "launch_image", "launch_binds", "launch_apptainer_options"


def apptainer(node: Node, cluster: Cluster) -> Outcome:
    """Find nodes that cannot run the image, and images without what the ranks need."""
    if not cluster.in_image:
        return skipped(NOT_USED)
    facts, command = node.facts.apptainer, shlex.join(cluster.policy.apptainer)
    if facts is None:
        return unavailable(f"{command} could not be asked", "apptainer")
    if facts.version is None:
        remedy = "install it there (package apptainer), or set launch_apptainer to the command that runs it"
        return failed(f"{command} was not found", "Apptainer, which runs the image", "launch_apptainer", remedy)
    if not facts.exists:
        setup = cluster.launch.invocation.command("setup", "--tags", "apptainer")
        put = sentence("let setup put it there: ", setup, f"; or correct {IMAGE}")
        return failed(f"{facts.image} does not exist", "the image on every node", IMAGE, put)
    if facts.has_python is None:
        observed = f"nothing can be run in {facts.image}: {facts.why}"
        return failed(observed, "programs of this user run in the image", IMAGE, _why_not(node, cluster, facts))
    return _contents(node, cluster, facts) or passed(
        f"Apptainer {facts.version}, Python {facts.python} in {facts.image}", IMAGE
    )


def _why_not(node: Node, cluster: Cluster, facts: Apptainer) -> Remedy | str:
    policy = cluster.policy
    is_root = node.facts.user.uid == 0
    if not is_root and facts.user_namespaces is False:
        return (
            "allow user namespaces there (sysctl user.max_user_namespaces=15000, and where it exists "
            "kernel.unprivileged_userns_clone=1), or install the package apptainer-suid"
        )
    if not is_root and facts.fuse is False and facts.identity:
        sandbox = shlex.quote(f"{facts.image.removesuffix('.sif')}.sandbox")
        build = f"{shlex.join(policy.apptainer)} build --sandbox {sandbox} {shlex.quote(facts.image)}"
        return f"let users open /dev/fuse there (chmod 666 /dev/fuse), or set {IMAGE} to an unpacked image: {build}"
    words = [*policy.apptainer, "exec", *policy.apptainer_options, facts.image, "/bin/sh", "-c", "true"]
    return f"see why there: {shlex.join(words)}"


def _contents(node: Node, cluster: Cluster, facts: Apptainer) -> Outcome | None:
    """Return what the ranks would miss in the image."""
    python, image = node.facts.python.command, facts.image
    if not facts.has_python:
        remedy = "set launch_python to an interpreter of the image, or build an image that has Python"
        return failed(f"{image} has no {python}", "the interpreter of the ranks", "launch_python", remedy)
    if facts.python and tuple(map(int, facts.python.split(".")[:2])) < OLDEST_PYTHON:
        remedy = "set launch_python to a newer interpreter of the image, or build an image that has one"
        return failed(f"{python} in {image} is Python {facts.python}", EXPECTED_PYTHON, "launch_python", remedy)
    needs_torch = cluster.launch.launcher in BY_TORCHRUN
    if needs_torch and not facts.torch and "PYTHONPATH" not in cluster.environment(node):
        remedy = f"build an image that has torch, or bind its directory with {BINDS} and name it in PYTHONPATH"
        return failed(f"{python} in {image} has no torch", "torch, of which torchrun is a part", IMAGE, remedy)
    gpu = node.gpu  # AMD's are counted by /dev/kfd, which the driver makes; the kernel's own amdgpu has no version
    if gpu and gpu.count and gpu.vendor == "nvidia" and not gpu.driver_version:
        expected = "NVIDIA's driver, whose libraries --nv binds into the image"
        return failed(f"{gpu.count} GPUs without a driver", expected, "facts gpu", "install NVIDIA's driver there")
    if facts.infiniband is False and any(port.hca.uverbs for port in usable(node.rdma)):
        remedy = f"set mount dev = yes in apptainer.conf there, and remove --contain and --containall from {OPTIONS}"
        return failed("the image does not see /dev/infiniband", "the node's adapters in the image", OPTIONS, remedy)
    return None


def binds(node: Node, cluster: Cluster) -> Outcome:
    """Find what is to be bound into the image and is not there: Apptainer would not start."""
    facts = node.facts.apptainer
    if not cluster.in_image or facts is None:
        return skipped(NOT_USED if not cluster.in_image else "Apptainer could not be asked, which its check reports")
    missing = [path for path, exists in facts.binds.items() if not exists]
    if missing:
        remedy = f"create or mount it there, or correct {BINDS}; for a topology file, NCCL_TOPO_FILE"
        return failed(f"{names(missing)} not found", "everything that is bound into the image", BINDS, remedy)
    return passed(names(list(facts.binds)) if facts.binds else "only the directories of the run are bound", BINDS)
