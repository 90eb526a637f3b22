# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of a node for the tests of the role memlock, and what is planned with them."""

from __future__ import annotations

import copy
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._setup.memlock import plan

MIB = 2**20
LOGIN = {"user": "ann", "uid": 1000, "linger": False, "soft": 8 * MIB, "hard": 8 * MIB, "effective": 8 * MIB}
SSH = {"pid": 70, "configured": 8 * MIB, "reload": False, "soft": 8 * MIB, "hard": 8 * MIB}
ENGINE: dict[str, Any] = {
    "running": True,
    "why": None,
    "containers": [],
    "live_restore": False,
    "stale": False,
    "flag": False,
    "container": {"image": "i", "soft": 8 * MIB, "hard": 8 * MIB, "why": None},
}
NODE: dict[str, Any] = {
    "login": {"hard": 8 * MIB, "can_raise": True},
    "units": {"ssh.service": SSH, "docker.service": {**SSH}},
    "unit_files": ["ssh.service", "user@.service"],
    "files": {},
    "runs": [],
    "engine": ENGINE,
}


def node(**changes: Any) -> dict[str, Any]:
    return copy.deepcopy({**NODE, **changes})


def engine(**changes: Any) -> dict[str, Any]:
    return {**ENGINE, **changes}


def planned(facts: dict[str, Any], limit: Any = "unlimited", name: str = "", state: str = "present") -> dict[str, Any]:
    return plan(facts, LOGIN, name, limit, state, True)
