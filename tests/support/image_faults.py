# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of ranks in an image of Apptainer."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import ClusterPolicy
from ansible_collections.muster.train.tests.support.faults import CPU, IB, Fault
from ansible_collections.muster.train.tests.support.preflight_parts import Change, Facts

POLICY = ClusterPolicy(runtime="apptainer", image="/images/train.sif", binds=["/data:/data:ro"])
# What is well.
IMAGE: dict[str, Any] = {
    "image": "/images/train.sif",
    "exists": True,
    "version": "1.4.5",
    "identity": "ab" * 16,
    "has_python": True,
    "python": "3.12.3",
    "torch": "2.9.0",
    "binds": {"/data": True},
    "infiniband": True,
    "fuse": True,
    "user_namespaces": True,
}
NOTHING_RUNS: dict[str, Any] = {"has_python": None, "python": None, "torch": None, "why": "container creation failed"}
USER: dict[str, Any] = {"name": "ann", "uid": 1000, "home": "/home/ann"}


def has_image(facts: Facts, **changes: Any) -> None:
    facts["node"]["apptainer"] = {**IMAGE, **changes}


def image(user: dict[str, Any] | None = None, **changes: Any) -> Change:
    """Set facts of the image, and who the user is."""

    def change(facts: Facts) -> None:
        has_image(facts, **changes)
        facts["node"]["user"].update(user or {})

    return change


def without_driver(facts: Facts) -> None:
    facts["gpu"]["driver_version"] = None


def of_head(facts: Facts) -> None:
    """The head has the image: both of the nodes go through this, the second with its fault."""
    if facts["node"]["hostname"].endswith("-0"):
        has_image(facts)


def fault(what: str, check: str, *of: Change, machine: str = CPU, status: str = "fail") -> Fault:
    """A fault of the second node."""

    def change(facts: Facts) -> None:
        for part in of:
            part(facts)

    # A driver that is missing is also another one than the head's.
    options = {"policy": POLICY, "both": of_head, "levels": {"driver": "off"}}
    return Fault(what, machine, check, status, change=change, options=lambda: options)


IMAGE_FAULTS = [
    fault("Apptainer is missing", "apptainer", image(version=None, **NOTHING_RUNS)),
    fault("the image is missing", "apptainer", image(exists=False, identity=None, **NOTHING_RUNS)),
    fault("an image that does not run", "apptainer", image(USER, **NOTHING_RUNS)),
    fault("no user namespaces", "apptainer", image(USER, user_namespaces=False, **NOTHING_RUNS)),
    fault("a SIF without FUSE", "apptainer", image(USER, fuse=False, **NOTHING_RUNS)),
    fault("no Python in the image", "apptainer", image(has_python=False, python=None, torch=None)),
    fault("an old Python in the image", "apptainer", image(python="3.8.10")),
    fault("no torch in the image", "apptainer", image(torch=None)),
    fault("no driver for --nv", "apptainer", image(), without_driver, machine=IB),
    fault("adapters that the image does not see", "apptainer", image(infiniband=False), machine=IB),
    fault("no facts of Apptainer", "apptainer", lambda facts: facts["node"].update(apptainer=None), status="error"),
    fault("a bind without its source", "binds", image(binds={"/data": False})),
    fault("an image of another build", "image file", image(identity="cd" * 16)),
]
