# SPDX-License-Identifier: GPL-3.0-or-later
"""A node of the cluster: its answer to `node_facts`, and what the inventory sets for it alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible.utils.vars import transform_to_native_types

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.module_utils._records.known import parse_json
from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Rdma

from .._findings.errors import task_message
from .._findings.origin import Origin
from .._text.plain import plain
from .._text.table import one_line
from .login import SRUN

UserLayer = tuple[Any, Origin]  # what users set, names to values, and where

# What says how Ansible reaches a node.
REACH = ("ansible_host", "ansible_connection", "ansible_srun_job")
LONGEST = 8192  # of what a failed task said, in characters
HALF = LONGEST // 2


@frozen
class Node:
    """A node that answered; rdma and gpu are None where they could not be read or were not asked for.

    address is how Ansible reaches it, and srun_job the Slurm job by whose steps it does. layers are the environment
    that is set for its ranks alone, the lowest first. policy holds the policy variables that are set for it; those of
    the head are the cluster's policy.
    """

    name: str
    facts: NodeFacts
    rdma: Rdma | None = None
    gpu: Gpu | None = None
    address: str = ""
    layers: Sequence[UserLayer] = ()
    policy: Mapping[str, Any] = field(default_factory=dict)
    srun_job: str | None = None

    @property
    def is_in_step(self) -> bool:
        """Whether it is reached by steps of a Slurm job; a step that the controller itself is in does not count."""
        slurm = self.facts.slurm
        return slurm is not None and slurm.step.isdigit() and slurm.job == self.srun_job

    @classmethod
    def from_facts(
        cls,
        name: str,
        facts: Mapping[str, Any],
        address: str = "",
        layers: Sequence[UserLayer] = (),
        srun_job: str | None = None,
    ) -> Node:
        """Read what is in `ansible_facts` under the keys node, rdma and gpu."""
        rdma, gpu = facts.get("rdma"), facts.get("gpu")
        return cls(
            name,
            NodeFacts.from_dict(facts["node"]),
            Rdma.from_dict(rdma) if rdma else None,
            Gpu.from_dict(gpu) if gpu else None,
            address,
            layers,
            srun_job=srun_job,
        )


@frozen
class Silent:
    """A node that returned no facts, and why; asked is False if no task gathered them.

    message is what Ansible said, empty where it said nothing: only this is judged, why is for people. reason_key is the
    key that a module gives to why it failed (`reasons.ReasonKey`).
    """

    name: str
    why: str
    address: str = ""
    asked: bool = True
    message: str = ""
    reason_key: str | None = None


NodeAnswer = Node | Silent


def read_answers(
    hostvars: Mapping[str, Any], names: Iterable[str], register: str, layers: Mapping[str, Origin]
) -> list[NodeAnswer]:
    """Return each node's answer from the result that was registered under this name.

    layers are the variables with a node's own environment, the lowest first, and their origins. Facts of another task,
    of an earlier play or from a cache do not count: their age is not known.
    """
    return [_answer(name, hostvars.get(name) or {}, register, layers) for name in names]


def _answer(name: str, variables: Mapping[str, Any], register: str, layers: Mapping[str, Origin]) -> NodeAnswer:
    result = variables.get(register)
    address = str(variables.get("ansible_host") or name)
    if not isinstance(result, Mapping):
        return Silent(name, "its facts were not gathered", address, asked=False)
    text = result.get("facts_text")
    facts = plain(result.get("ansible_facts")) if text is None else parse_json(str(text))
    if not isinstance(facts, Mapping) or not facts.get("node"):
        return silent_of(name, result, "it returned no facts", address)
    environment = [(native(variables, variable), origin) for variable, origin in layers.items()]
    return Node.from_facts(name, facts, address, environment, srun_job_of(variables))


def srun_job_of(variables: Mapping[str, Any]) -> str | None:
    """Return the Slurm job whose steps a node is reached by, None where it is reached otherwise."""
    job, connection = variables.get("ansible_srun_job"), variables.get("ansible_connection", SRUN)
    return str(job) if job is not None and connection == SRUN else None


def silent_of(name: str, result: Mapping[str, Any], default: str, address: str = "") -> Silent:
    """Return a node whose task failed; default is why, where nothing says so."""
    why = one_line(task_message(result, "")) or default
    return Silent(name, why, address, message=text_of(result), reason_key=module_reason_key(result))


def text_of(result: Mapping[str, Any]) -> str:
    """Return what Ansible and the module said in a failed result: the cause may be in any of it.

    Of a text that is longer than any cause, the beginning and the end: a host must not keep the controller reading.
    """
    words = [task_message(result, ""), *(str(result.get(name) or "") for name in ("module_stderr", "module_stdout"))]
    return "\n".join(text if len(text) <= LONGEST else text[:HALF] + "\n" + text[-HALF:] for text in words if text)


def module_reason_key(result: Mapping[str, Any]) -> str | None:
    """Return the key that a module of Muster gives to why it failed."""
    key = result.get("reason_key")
    return str(key) if key else None


def native(variables: Mapping[str, Any], name: str) -> Any:
    """Return a variable that is a mapping, as plain data; what is not set is empty."""
    return transform_to_native_types(variables.get(name) or {}, redact=False)


def native_of(variables: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return those of these variables that are set, as plain data."""
    return {name: transform_to_native_types(variables[name], redact=False) for name in names if name in variables}
