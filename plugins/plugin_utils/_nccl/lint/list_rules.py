# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lint of the lists NCCL_IB_HCA and NCCL_SOCKET_IFNAME: what they match on this node."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable

from ..grammar import EMPTY_PORT_IS_ANY, DeviceList, parse, render
from ..hcas import NAME
from ..hcas import choose as choose_hcas
from ..ports import ACTIVE, HcaPort, explain, openable, ports_of, why_not
from ..sockets import interfaces
from ..view import NodeView, version_text

# What is wrong, what was to be expected, what to do.
Fault = tuple[str, str, str]
SYNTAX = "[^][=]NAME[:PORT][,…], nothing else"


def grammar(value: str) -> list[Fault]:
    """Find what NCCL reads otherwise than it was meant."""
    faults: list[Fault] = []
    if any(character.isspace() for character in value):
        faults.append(("NCCL does not trim: a name with a space in it is lost", "no spaces", "remove the spaces"))
    if value.startswith("=^"):
        faults.append(("NCCL looks for a device named with ^", "^= to leave out exactly these", "write ^= for =^"))
    rest = value.lstrip("^=")
    if any(item[:1] in ("^", "=") for item in rest.split(",")):
        found = "^ and = count only at the beginning, for the whole list"
        faults.append((found, SYNTAX, "write them once, in front"))
    if value == "^":
        faults.append(("^ alone leaves out every device", "names after ^", "take it out, or name what to leave out"))
    return faults


def hcas(node: NodeView, variable: Variable) -> list[Fault]:
    """Find what is wrong with NCCL_IB_HCA on this node: entries in vain, more or less matched than named."""
    faults = grammar(variable.value)
    if not variable.value:
        seen = "empty, so NCCL takes every ACTIVE port, as if it were not set, and none is chosen for it"
        faults.append((seen, "unset", "take it out: the ports of the ranks' network are chosen then"))
    faults += _rails(node, variable.value)
    if node.rdma is None:
        return faults
    devices = parse(variable.value, node.library.version)
    ports = ports_of(node.rdma)
    taken = [each for each in openable(node.rdma) if devices.takes(each.hca.name, each.port.port)]
    for entry in devices.entries:
        if any(character.isspace() for character in entry.name) or entry.name[:1] in ("^", "="):
            continue
        named = [each for each in ports if devices.names(entry, each.hca.name, each.port.port)]
        if not named:
            there = ", ".join(hca.name for hca in node.rdma.hcas) or "none"
            faults.append((f"{entry.text()} names no device here", f"a device of this node ({there})", "correct it"))
        elif not devices.exclude and all(each.port.state != ACTIVE for each in named):
            states = ", ".join(f"{each.label} {each.port.state}" for each in named)
            faults.append((f"{entry.text()} names no active port ({states})", "an ACTIVE port", "look at the link"))
    faults += _prefixes(devices, sorted({each.hca.name for each in ports}))
    layers = sorted({each.port.link_layer or "unknown" for each in taken})
    if len(layers) > 1:
        seen = f"takes ports of {' and '.join(layers)} ({_labels(taken)}), which cannot work together"
        faults.append((seen, "ports of one link layer", "name those of one"))
    bad = [each for each in taken if why_not(each)]
    if bad:
        faults.append((f"takes ports that do not work ({explain(bad)})", "usable ports", "leave them out"))
    if len(layers) == 1 and (devices.exclude or not devices.exact):
        faults += _not_chosen(node, [each for each in taken if each not in bad])
    return faults


def _not_chosen(node: NodeView, taken: list[HcaPort]) -> list[Fault]:
    """Find ports that nobody named, and that rule D2 would leave out."""
    given = {name: value for name, value in node.given.items() if name != NAME}
    choice = choose_hcas(dataclasses.replace(node, given=given))
    other = [each for each in taken if each not in choice.ports]
    if not choice.ports or not other:
        return []
    seen = f"takes {_labels(other)} too, which would be left out ({'; '.join(choice.why)})"
    return [(seen, render(each.entry for each in choice.ports), "take it out, or name the ports that are meant")]


def _rails(node: NodeView, value: str) -> list[Fault]:
    version = node.library.version
    if version is None or version >= EMPTY_PORT_IS_ANY or not any(item.count(":") > 1 for item in value.split(",")):
        return []
    seen = f"{version_text(node.library)} does not read :rail:plane, which came with 2.30"
    return [(seen, "NAME[:PORT]", "take rail and plane out")]


def nothing(node: NodeView, variable: Variable) -> bool:
    """Say whether NCCL_IB_HCA leaves NCCL without any device, so that it falls back to TCP."""
    devices = parse(variable.value, node.library.version)
    there = openable(node.rdma)
    return bool(there) and not any(devices.takes(each.hca.name, each.port.port) for each in there)


def sockets(node: NodeView, variable: Variable) -> list[Fault]:
    """Find what is wrong with NCCL_SOCKET_IFNAME on this node. NCCL ignores a value of one character."""
    faults = grammar(variable.value)
    known = interfaces(node.net)
    if not known or len(variable.value) < 2:
        return faults
    devices = parse(variable.value)
    matched = sorted(name for name in known if devices.takes(name))
    if not matched:
        seen = f"matches no interface that has an IPv4 address ({', '.join(sorted(known))}); NCCL does not start then"
        return [*faults, (seen, "an interface of this node", "correct it, or take it out")]
    for entry in () if devices.exclude else devices.entries:
        if entry.name.split() == [entry.name] and not any(devices.names(entry, name) for name in known):
            seen = f"{entry.name} names no interface that has an IPv4 address"
            faults.append((seen, f"of {', '.join(sorted(known))}", "correct it, or take it out"))
    faults += _prefixes(devices, sorted(known))
    towards = node.interface.name if node.interface else None
    if towards is not None and towards not in matched:
        seen = f"matches {', '.join(matched)}, but {towards} leads to the head"
        faults.append((seen, f"={towards}", f"take it out, or see that {', '.join(matched)} reaches the head"))
    elif len(matched) > 1 and not devices.exclude:
        seen = f"matches {', '.join(matched)}; NCCL meets over the first that the system lists, not the first named"
        faults.append((seen, "one interface", f"write ={towards or matched[0]}"))
    return faults


def gloo(node: NodeView, variable: Variable) -> list[Fault]:
    """Find what is wrong with GLOO_SOCKET_IFNAME: exact names, without NCCL's signs."""
    known = interfaces(node.net)
    faults: list[Fault] = []
    for name in variable.value.split(","):
        if name[:1] in ("^", "="):
            faults.append((f"Gloo looks for an interface named {name}", "a plain name", "take the sign away"))
        elif known and name not in known:
            faults.append(
                (f"{name or 'nothing'} is no interface that has an IPv4 address", "an interface", "correct it")
            )
    return faults


CHECKS: dict[str, Callable[[NodeView, Variable], list[Fault]]] = {
    "NCCL_IB_HCA": hcas,
    "NCCL_SOCKET_IFNAME": sockets,
    "GLOO_SOCKET_IFNAME": gloo,
}


def _prefixes(devices: DeviceList, names: list[str]) -> list[Fault]:
    """Find prefixes that name a device and, unmeant, others too: mlx5_1 takes mlx5_10."""
    faults: list[Fault] = []
    for entry in () if devices.exact else devices.entries:
        more = [name for name in names if name.startswith(entry.name) and name != entry.name]
        if entry.name in names and more:
            sign = "^=" if devices.exclude else "="
            faults.append(
                (f"{entry.name} is a prefix and matches {', '.join(more)} too", "exact names", f"begin with {sign}")
            )
    return faults


def _labels(ports: list[HcaPort]) -> str:
    return ", ".join(each.label for each in ports)
