# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter `firewall_plan`: which ports the role `firewall` closes to whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._setup import firewall
from ansible_collections.muster.train.plugins.plugin_utils._text.plain import plain

DOCUMENTATION = r"""
name: firewall_plan
short_description: Plan which addresses may connect to which ports
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Combines the addresses of all nodes. An address that several nodes have, such as that of the container engine's
    bridge, is ignored.
positional: _input
options:
  _input:
    description: The facts of M(ansible.builtin.setup) of each node, by its name.
    type: dict
    required: true
  hosts:
    description: C(ansible_host) of each node, by its name.
    type: dict
    required: true
  port_range:
    description: The port range of runs, V(FIRST-LAST). By default that of the role P(muster.train.launch#role).
    type: str
  defaults:
    description: The cluster's defaults for launch parameters. C(master_port) may be outside of the range.
    type: dict
    default: {}
  ports:
    description: More ports or ranges of ports.
    type: list
    elements: str
    default: []
  addresses:
    description: More addresses or networks that belong to the cluster.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Show who may connect to which ports
  ansible.builtin.debug:
    msg: "{{ facts_by_name | muster.train.firewall_plan({'n1': '10.0.0.1', 'n2': '10.0.0.2'}, '29400-29999') }}"
"""

RETURN = r"""
_value:
  description:
    - C(ports), C(ipv4) and C(ipv6) are lists of elements for nftables sets.
    - C(refused) is the reason if there is no plan. Then there is nothing else.
  type: dict
"""

READ = ("all_ipv4_addresses", "all_ipv6_addresses", "env")


def firewall_plan(
    nodes: Mapping[str, Any],
    hosts: Any,
    port_range: Any = None,
    defaults: Any = None,
    ports: Sequence[Any] = (),
    addresses: Sequence[Any] = (),
) -> dict[str, Any]:
    """Return the plan; see DOCUMENTATION."""
    # Copy only what is used: the facts of all nodes are large.
    read = {str(node): {name: plain((facts or {}).get(name)) for name in READ} for node, facts in nodes.items()}
    written = str(port_range) if port_range else None
    try:
        plan = firewall.plan(read, plain(hosts), written, plain(defaults or {}), plain(ports), plain(addresses))
    except ValueError as error:
        return {"refused": str(error)}
    return {**plan, "refused": None}


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"firewall_plan": firewall_plan}
