# SPDX-License-Identifier: GPL-3.0-or-later
"""What amd-smi prints with --json, in the shapes of its versions.

Until ROCm 6.3 `topology` names its GPUs by number alone and has one object per fact, since then a list of links with
addresses (amdsmi's CHANGELOG); since 26.0 the list of GPUs lies under `gpu_data`.
"""

from __future__ import annotations

import re
from typing import Any

from .smi_json import is_number, parse_gpus
from .topology import BDF, ToolTables

NO_JSON = "the answer is not valid JSON"
_PEER = re.compile(r"gpu_(\d{1,4})")


def parse_topology(text: str) -> ToolTables:
    """Return the output of `amd-smi topology --json`; only a complaint if it is not JSON.

    Trailing commas and lines of `...` are skipped, with a complaint: what is between them is complete.
    """
    topology = ToolTables()
    gpus, valid = parse_gpus(text)
    if not valid:
        topology.complaints.append(NO_JSON)
    for number, gpu in gpus:
        _see(topology, number, gpu.get("bdf"))
        links = gpu.get("links")
        for link in links if isinstance(links, list) else []:
            if isinstance(link, dict) and is_number(link.get("gpu")):
                _see(topology, link["gpu"], link.get("bdf"))
                for name, value in link.items():
                    if name not in ("gpu", "bdf"):
                        _put(topology, name, number, link["gpu"], value)
        for name, cells in gpu.items():
            for peer, value in cells.items() if isinstance(cells, dict) else []:
                match = _PEER.fullmatch(peer)
                if match:
                    _see(topology, int(match.group(1)), None)
                    _put(topology, name, number, int(match.group(1)), value)
    topology.gpus.sort()
    return topology


def parse_names(text: str) -> dict[str, str]:
    """Return the market names in `amd-smi static --asic --bus --json`, by PCI address."""
    names = {}
    for _number, gpu in parse_gpus(text)[0]:
        asic, bus = gpu.get("asic"), gpu.get("bus")
        if isinstance(asic, dict) and isinstance(bus, dict):
            name, address = asic.get("market_name"), bus.get("bdf")
            if isinstance(name, str) and name not in ("", "N/A") and isinstance(address, str):
                names[address.lower()] = name
    return names


def _see(topology: ToolTables, number: int, address: Any) -> None:
    if number not in topology.gpus:
        topology.gpus.append(number)
    if isinstance(address, str) and BDF.fullmatch(address):
        topology.addresses[number] = address.lower()


def _put(topology: ToolTables, name: str, a: int, b: int, value: Any) -> None:
    if isinstance(value, (str, int)):
        topology.tables.setdefault(name, {})[a, b] = str(value)
