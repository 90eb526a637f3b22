# SPDX-License-Identifier: GPL-3.0-or-later
"""Lint of lists such as NCCL_IB_HCA and NCCL_SOCKET_IFNAME: what they match on this node."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable

from ..grammar import EMPTY_PORT_IS_ANY, MOST_HCAS, DeviceList, parse, render
from ..hcas import NAME
from ..hcas import choose as choose_hcas
from ..ports import ACTIVE, HcaPort, explain, openable, ports_of, why_not
from ..sockets import interfaces
from ..view import NodeView, version_text

# Observed, expected, remedy.
Fault = tuple[str, str, str]
SYNTAX = "[^][=]NAME[:PORT][,…], nothing else"


def grammar(value: str) -> list[Fault]:
    """Return what NCCL reads differently than intended."""
    faults: list[Fault] = []
    if any(character.isspace() for character in value):
        faults.append(("NCCL does not trim names: one with a space never matches", "no spaces", "remove the spaces"))
    if value.startswith("=^"):
        faults.append(("NCCL looks for a device named with ^", "^= to exclude exactly these", "write ^= instead of =^"))
    rest = value.lstrip("^=")
    if any(item[:1] in ("^", "=") for item in rest.split(",")):
        observed = "^ and = are valid only at the beginning, for the whole list"
        faults.append((observed, SYNTAX, "write them once, at the beginning"))
    if value == "^":
        faults.append(("^ alone excludes every device", "names after ^", "remove it, or name what to exclude"))
    return faults


def hcas(node: NodeView, variable: Variable) -> list[Fault]:
    """Return what is wrong with NCCL_IB_HCA on this node, such as entries that match nothing or too much."""
    faults = grammar(variable.value)
    if not variable.value:
        observed = "empty, so NCCL takes every ACTIVE port, and none is chosen for it"
        faults.append((observed, "unset", "remove it, so that the ports of the ranks' network are chosen"))
    version = node.library.version
    rails = any(item.count(":") > 1 for item in variable.value.split(","))
    if rails and version is not None and version < EMPTY_PORT_IS_ANY:
        observed = f"{version_text(node.library)} does not support :rail:plane, which is new in 2.30"
        faults.append((observed, "NAME[:PORT]", "remove rail and plane"))
    if node.rdma is None:
        return faults
    devices = parse(variable.value, version)
    if ignored := devices.entries[MOST_HCAS:]:
        observed = f"NCCL reads {MOST_HCAS} entries, so it ignores {', '.join(entry.text() for entry in ignored)}"
        faults.append((observed, f"at most {MOST_HCAS} entries", "shorten the list, with a prefix or with ^"))
        devices = dataclasses.replace(devices, entries=devices.entries[:MOST_HCAS])
    ports = ports_of(node.rdma)
    taken = [nic for nic in openable(node.rdma) if devices.takes(nic.hca.name, nic.port.port)]
    for entry in devices.entries:
        if any(character.isspace() for character in entry.name) or entry.name[:1] in ("^", "="):
            continue
        named = [nic for nic in ports if devices.names(entry, nic.hca.name, nic.port.port)]
        if not named:
            hcas = ", ".join(hca.name for hca in node.rdma.hcas) or "none"
            faults.append((f"{entry.text()} names no device here", f"a device of this node ({hcas})", "correct it"))
        elif not devices.exclude and all(nic.port.state != ACTIVE for nic in named):
            states = ", ".join(f"{nic.label} {nic.port.state}" for nic in named)
            faults.append((f"{entry.text()} names no active port ({states})", "an ACTIVE port", "check the link"))
    faults += _prefixes(devices, sorted({nic.hca.name for nic in ports}))
    layers = sorted({nic.port.link_layer or "unknown" for nic in taken})
    if len(layers) > 1:
        observed = f"takes ports of {' and '.join(layers)} ({_labels(taken)}), which cannot work together"
        faults.append((observed, "ports of one link layer", "name only those of one link layer"))
    bad = [nic for nic in taken if why_not(nic)]
    if bad:
        faults.append((f"takes ports that do not work ({explain(bad)})", "usable ports", "exclude them"))
    if len(layers) == 1 and (devices.exclude or not devices.exact):
        faults += _not_chosen(node, [nic for nic in taken if nic not in bad])
    return faults


def _not_chosen(node: NodeView, taken: list[HcaPort]) -> list[Fault]:
    """Return ports that are not named explicitly and that rule D2 would leave out."""
    values = {name: value for name, value in node.user_values.items() if name != NAME}
    choice = choose_hcas(dataclasses.replace(node, user_values=values))
    others = [nic for nic in taken if nic not in choice.ports]
    if not choice.ports or not others:
        return []
    observed = f"also takes {_labels(others)}, which would be left out ({'; '.join(choice.why)})"
    return [(observed, render(nic.entry for nic in choice.ports), "remove it, or name exactly the intended ports")]


def nothing(node: NodeView, variable: Variable) -> bool:
    """Return whether NCCL_IB_HCA leaves NCCL without any device, so that it falls back to TCP."""
    devices = parse(variable.value, node.library.version)
    ports = openable(node.rdma)
    return bool(ports) and not any(devices.takes(nic.hca.name, nic.port.port) for nic in ports)


def sockets(node: NodeView, variable: Variable) -> list[Fault]:
    """Return what is wrong with NCCL_SOCKET_IFNAME on this node. NCCL ignores a value of one character."""
    faults = grammar(variable.value)
    known = interfaces(node.net)
    if not known or len(variable.value) < 2:
        return faults
    devices = parse(variable.value)
    matched = sorted(name for name in known if devices.takes(name))
    if not matched:
        observed = f"matches no interface that has an address ({', '.join(sorted(known))}); NCCL will not start"
        return [*faults, (observed, "an interface of this node", "correct it, or remove it")]
    for entry in () if devices.exclude else devices.entries:
        if entry.name.split() == [entry.name] and not any(devices.names(entry, name) for name in known):
            observed = f"{entry.name} names no interface that has an address"
            faults.append((observed, f"one of {', '.join(sorted(known))}", "correct it, or remove it"))
    faults += _prefixes(devices, sorted(known))
    to_head = node.interface.name if node.interface else None
    if to_head is not None and to_head not in matched:
        observed = f"matches {', '.join(matched)}, but {to_head} leads to the head"
        faults.append((observed, f"={to_head}", f"remove it, or check that {', '.join(matched)} reaches the head"))
    elif len(matched) > 1 and not devices.exclude:
        observed = f"matches {', '.join(matched)}; NCCL uses the first that the system lists, not the first in the list"
        faults.append((observed, "one interface", f"write ={to_head or matched[0]}"))
    return faults


def gloo(node: NodeView, variable: Variable) -> list[Fault]:
    """Return what is wrong with GLOO_SOCKET_IFNAME, which takes exact names without NCCL's signs."""
    known = interfaces(node.net)
    faults: list[Fault] = []
    for name in variable.value.split(","):
        if name[:1] in ("^", "="):
            faults.append((f"Gloo looks for an interface named {name}", "a plain name", "remove the sign"))
        elif known and name not in known:
            observed = f"{name or 'nothing'} is not an interface that has an address"
            faults.append((observed, "an interface", "correct it"))
    return faults


CHECKS: dict[str, Callable[[NodeView, Variable], list[Fault]]] = {
    "NCCL_IB_HCA": hcas,
    "NCCL_SOCKET_IFNAME": sockets,
    "GLOO_SOCKET_IFNAME": gloo,
}


def _prefixes(devices: DeviceList, names: list[str]) -> list[Fault]:
    """Return prefixes that name a device and also match others: mlx5_1 takes mlx5_10."""
    faults: list[Fault] = []
    for entry in () if devices.exact else devices.entries:
        more = [name for name in names if name.startswith(entry.name) and name != entry.name]
        if entry.name in names and more:
            observed = f"{entry.name} is a prefix and also matches {', '.join(more)}"
            faults.append((observed, "exact names", f"begin with {'^=' if devices.exclude else '='}"))
    return faults


def _labels(ports: list[HcaPort]) -> str:
    return ", ".join(nic.label for nic in ports)
