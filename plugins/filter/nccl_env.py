# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter `nccl_env`: the resolver of NCCL's environment, for playbooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.muster.train.plugins.plugin_utils._text.plain import plain

DOCUMENTATION = r"""
name: nccl_env
short_description: Resolve the NCCL or RCCL environment of nodes from their facts
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Chooses the fabric for all nodes together, and for each node the environment variables of NCCL (NVIDIA) or RCCL
    (AMD), each with the rule of the decision table, the reason and the origin.
  - Sets only what the library cannot determine better on its own, and gives the reason for variables that are not set.
  - Values that users set always win. Findings describe their effect on the node.
  - C(docs/environment.md) contains the decision table.
positional: _input
options:
  _input:
    description:
      - The nodes by name; the first is the head.
      - Each node has its facts as C(rdma), C(gpu) and C(node), as the modules of this collection return them. What
        is missing is treated as unknown.
      - C(library), V(nccl) or V(rccl), and C(version), such as V(2.23.4), are what the ranks load. They are required
        only if the facts do not have them.
      - C(environment) contains the variables that users set for the node, names to values.
    type: dict
    required: true
  mode:
    description:
      - V(rdma) makes nodes without usable RDMA an error, V(tcp) disables RDMA on all nodes, V(auto) uses RDMA if all
        nodes have it.
    type: str
    choices: [auto, rdma, tcp]
    default: auto
  head_address:
    description: Address at which the nodes reach the head. By default that of the head's default route.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Show what NCCL would need on these nodes
  ansible.builtin.debug:
    msg: "{{ nodes | muster.train.nccl_env(mode='rdma') }}"
  vars:
    nodes: "{{ dict(groups['nodes'] | zip(groups['nodes'] | map('extract', hostvars, 'ansible_facts'))) }}"

- name: One node, with NCCL 2.23.4
  ansible.builtin.debug:
    msg: "{{ ({'here': ansible_facts | combine({'version': '2.23.4'})} | muster.train.nccl_env).nodes.here.env }}"
"""

RETURN = r"""
_value:
  description:
    - C(fabric) has the C(value), V(rdma) or V(tcp), and the C(reason).
    - C(nodes) has for each node C(env) (names to values), C(variables) (each with C(name), C(value), C(origin),
      C(layer), C(reason) and C(rule)), C(not_set) (deliberately not set, each with C(name), C(rule) and
      C(reason)) and C(hcas) (the RDMA devices that NCCL is meant to use).
    - C(findings) lists problems and warnings, each with C(check), C(node), C(status), C(observed), C(expected),
      C(source) and C(remedy). A status V(fail) or V(error) means that a launch would refuse.
  type: dict
"""


def nccl_env(nodes: Any, mode: str = "auto", head_address: str = "") -> dict[str, Any]:
    """Resolve the nodes; see DOCUMENTATION."""
    # Using any filter imports all filter files, again in every worker, so they import late.
    from ansible_collections.muster.train.plugins.plugin_utils._nccl.facts import resolve_facts

    try:
        return resolve_facts(plain(nodes), str(mode), str(head_address))
    except ValueError as error:
        raise AnsibleFilterError(f"nccl_env: {error}") from error


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"nccl_env": nccl_env}
