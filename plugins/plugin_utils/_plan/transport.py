# SPDX-License-Identifier: GPL-3.0-or-later
"""What `verify_transport` sets for NCCL, and what NCCL's own log then has to prove of a node.

Only for a run over RDMA on several nodes with GPUs: without them there is no NCCL, and over TCP nothing to lose. What
users set, or ranks inherit, wins; where that keeps NCCL from saying what it uses, a finding names it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.job import TransportProof, Variable
from ansible_collections.muster.train.plugins.module_utils._records.layout import LOGS, NCCL_LOG
from ansible_collections.muster.train.plugins.module_utils._records.transport import FAIL, OFF

from .._findings.finding import Finding
from .._findings.origin import DEFAULT
from .._nccl import variable_layers
from .._nccl.environments import Environments
from .._nccl.gpudirect import is_expected
from .._nccl.variable_layers import variable

PARAMETER = "verify_transport"
LEVEL, SUBSYSTEMS, FILE = "NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"
# A line of a connection belongs to INIT and to NET (transport/net.cc), what was read to ENV.
PROVING, WANTED = ("INIT", "NET"), ("INIT", "ENV", "NET")
TALKATIVE = ("INFO", "TRACE")


@frozen
class TransportPlan:
    """What is proved of each node, empty where nothing is, and what is in the way of it."""

    proofs: Mapping[str, TransportProof]
    findings: Sequence[Finding]


def plan_of(settings: variable_layers.Settings, environments: Environments, nnodes: int) -> TransportPlan:
    """Decide what the nodes have to prove; the environments are those that their ranks get."""
    action = settings[PARAMETER]["value"]
    views = environments.views
    if action == OFF or nnodes < 2 or environments.fabric.value != "rdma":
        return TransportPlan({}, [])
    if not all(view.has_gpus for view in views.values()):
        return TransportPlan({}, [])
    proofs, findings = {}, []
    for name, view in views.items():
        environment = environments.nodes[name]
        values = {item.name: item for item in environment.variables}
        missing = _missing(values)
        if missing is not None:
            findings.append(_unprovable(name, missing, action, settings[PARAMETER]["origin"]))
        elsewhere = [
            variable(key, str(value), origin)
            for variables, origin in reversed(view.inherited)
            for key, value in variables.items()
        ]
        proofs[name] = TransportProof(
            action=action,
            gdr=is_expected(view, environment.hcas),
            hcas=environment.hcas,
            missing="" if missing is None else f"{missing.name}={missing.value} ({missing.origin})",
            elsewhere=elsewhere if SUBSYSTEMS not in values or _has(values[SUBSYSTEMS], "ENV") else None,
        )
    return TransportPlan(proofs, findings)


def variables(run_dir: str, environment: Sequence[Variable]) -> list[Variable]:
    """Return the variables that let NCCL write what it uses, without those that the ranks already have."""
    names = {item.name for item in environment}
    wanted = (
        (LEVEL, TALKATIVE[0], "verify_transport reads which fabric NCCL uses"),
        (SUBSYSTEMS, ",".join(WANTED), "its connections, and the variables that it read"),
        (FILE, posixpath.join(run_dir.replace("%", "%%"), LOGS, NCCL_LOG), "one for each process: it is collected"),
    )
    return [variable(name, value, DEFAULT, reason) for name, value, reason in wanted if name not in names]


def _missing(values: Mapping[str, Variable]) -> Variable | None:
    """Return the variable that keeps NCCL from saying in our file what it uses."""
    level, subsystems, file = (values.get(name) for name in (LEVEL, SUBSYSTEMS, FILE))
    if level is not None and level.value.upper() not in TALKATIVE:
        return level
    if subsystems is not None and not any(_has(subsystems, name) for name in PROVING):
        return subsystems
    return file


def _has(subsystems: Variable, name: str) -> bool:
    """Return whether a list of subsystems has one; `^` takes out what follows (debug.cc)."""
    text = subsystems.value.upper()
    listed = {word.strip() for word in text.removeprefix("^").split(",")}
    return name not in listed if text.startswith("^") else bool({name, "ALL"} & listed)


def _unprovable(node: str, missing: Variable, action: str, origin: Any) -> Finding:
    observed = f"{missing.name}={missing.value} ({missing.origin}) keeps NCCL's own log from the run"
    expected = f"{missing.name} as verify_transport sets it"
    remedy = f"remove {missing.name} there, or give -e verify_transport=off"
    return Finding("environment", node, "fail" if action == FAIL else "warn", observed, expected, str(origin), remedy)
