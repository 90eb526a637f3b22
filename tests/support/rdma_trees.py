# SPDX-License-Identifier: GPL-3.0-or-later
"""What tools print of RDMA devices, turned back into the sysfs it was read from (as `files`, `links`, … of a manifest).

Only the tests need this: the product reads sysfs alone. What a text does not say is left out, or, where NCCL's choice
needs it, filled with what the tool's being able to print it implies.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

Manifest = dict[str, Any]
# GID, type and interface of an entry of the table.
Entry = tuple[str, "str | None", "str | None"]
CLASS = "/sys/class/infiniband"
# The kernel's words for those of libibumad, libibverbs and iproute2.
STATES = {"DOWN": "1: DOWN", "INIT": "2: INIT", "INITIALIZING": "2: INIT", "ARMED": "3: ARMED", "ACTIVE": "4: ACTIVE"}
PHYS = {"SLEEP": "1: Sleep", "POLLING": "2: Polling", "DISABLED": "3: Disabled", "LINKUP": "5: LinkUp"}
TRANSPORTS = {"iWARP": "4: RNIC", "usNIC": "5: usNIC", "unspecified": "7: unspecified"}
UNSET = ":".join(["0000"] * 8)


class Tree:
    """A manifest in the making; every device gets a PCI device of its own unless it is told otherwise."""

    def __init__(self) -> None:
        self.manifest: Manifest = {"files": {}, "links": {}, "directories": [CLASS], "errors": {}}
        self.folders: dict[str, str] = {}

    def device(self, name: str, on_pci: bool = True) -> str:
        """Return the folder of a device."""
        if name not in self.folders:
            bus = f"{len(self.folders) + 1:02x}"
            above = f"pci0000:00/0000:00:01.0/0000:{bus}:00.0" if on_pci else "virtual"
            self.folders[name] = f"/sys/devices/{above}/infiniband/{name}"
            self.manifest["links"][f"{CLASS}/{name}"] = f"../../devices/{above}/infiniband/{name}"
            self.manifest["directories"].append(self.folders[name])
            if on_pci:
                self.manifest["links"][f"{self.folders[name]}/device"] = f"../../../0000:{bus}:00.0"
        return self.folders[name]

    def beside(self, name: str, path: str, text: str) -> None:
        """Write a file of the PCI device of an HCA."""
        self.manifest["files"][self.device(name).rpartition("/infiniband/")[0] + "/" + path] = text + "\n"

    def write(self, name: str, path: str, text: str) -> None:
        self.manifest["files"][f"{self.device(name)}/{path}"] = text + "\n"

    def port(self, name: str, port: str, **values: str | None) -> None:
        for key, value in values.items():
            if value is None:
                continue
            if key == "state":
                value = STATES.get(value.upper().removeprefix("PORT_"), value)
            elif key == "phys_state":
                value = PHYS.get(value.upper().replace("_", ""), value)
            elif key in ("lid", "sm_lid"):
                value = hex(int(value, 0))
            self.write(name, f"ports/{port}/{key}", value)

    def netdev(self, name: str, netdev: str) -> None:
        self.manifest["directories"].append(self.device(name).rpartition("/infiniband/")[0] + "/net/" + netdev)

    def gids(self, name: str, port: str, table: Mapping[int, Entry], size: int = 16) -> None:
        """Write a table of size entries: GID, type (v1, v2) and interface of those that are set."""
        for index in range(max(size, *table, 0) + 1 if table else size):
            gid, kind, ndev = table.get(index, (UNSET, None, None))
            self.write(name, f"ports/{port}/gids/{index}", gid)
            for attribute, value in (("types", kind), ("ndevs", ndev)):
                path = f"ports/{port}/gid_attrs/{attribute}/{index}"
                if value is None:
                    self.manifest["errors"][f"{self.device(name)}/{path}"] = "EINVAL"
                else:
                    self.write(name, path, value)


def _kind(version: str) -> str:
    return {"v1": "IB/RoCE v1", "v2": "RoCE v2", "RoCE v1": "IB/RoCE v1"}.get(version, version)


def ibstat(text: str) -> Manifest:
    tree = Tree()
    name = port = ""
    names = {"CA type": "hca_type", "Firmware version": "fw_ver", "Node GUID": "node_guid"}
    names |= {"State": "state", "Physical state": "phys_state", "Base lid": "lid", "SM lid": "sm_lid"}
    names |= {"Link layer": "link_layer", "Rate": "rate"}
    for line in text.splitlines():
        key, _colon, value = map(str.strip, line.partition(":"))
        if match := re.match(r"CA '(.+)'", line):
            name, port = match.group(1), ""
            tree.write(name, "node_type", "1: CA")
        elif match := re.match(r"\s+Port (\d+):$", line):
            port = match.group(1)
        elif key in names and name and value:
            if port:
                tree.port(name, port, **{names[key]: f"{value} Gb/sec (4X)" if key == "Rate" else value})
            else:
                tree.write(name, names[key], value)
    return tree.manifest


def ibstatus(text: str) -> Manifest:
    tree = Tree()
    name = port = ""
    for line in text.splitlines():
        key, _colon, value = map(str.strip, line.partition(":"))
        if match := re.match(r"Infiniband device '(.+)' port (\d+) status", line):
            name, port = match.groups()
        elif key == "default gid" and value != "unknown":
            tree.write(name, f"ports/{port}/gids/0", value)
        elif key == "default gid":
            tree.manifest["errors"][f"{tree.device(name)}/ports/{port}/gids/0"] = "EINVAL"
        elif key in ("state", "phys state", "rate", "link_layer"):
            tree.write(name, f"ports/{port}/{key.replace(' ', '_')}", value)
        elif key in ("base lid", "sm lid"):
            tree.port(name, port, **{key.replace("base ", "").replace(" ", "_"): value})
    return tree.manifest


def ibv_devinfo(text: str) -> Manifest:
    """Turn ibv_devinfo, also with the sysfs value of a port's link layer quoted above it (which wins), into a tree."""
    tree = Tree()
    name = "mlx5_bond_0" if "hca_id" not in text else ""
    port = "1" if name else ""
    shown = dict(re.findall(r"cat /sys/class/infiniband/(\S+)/ports/1/link_layer\s*\n(\S+)", text))
    tables: dict[tuple[str, str], dict[int, Entry]] = {}
    for line in text.splitlines():
        key, _colon, value = map(str.strip, line.partition(":"))
        if key == "hca_id":
            name, port = value, ""
            tree.device(name, on_pci=not name.startswith(("rxe", "siw")))
        elif not name or not value:
            continue
        elif key == "port":
            port = value
        elif key in ("fw_ver", "node_guid", "board_id"):
            tree.write(name, key, value)
        elif key == "transport":
            tree.write(name, "node_type", TRANSPORTS.get(value.split()[0], "1: CA"))
        elif key == "vendor_id" and not name.startswith(("rxe", "siw")):
            # The IEEE number of Mellanox; everybody else shows the PCI vendor.
            tree.beside(name, "vendor", "0x15b3" if value == "0x02c9" else value)
        elif key in ("state", "sm_lid", "port_lid"):
            tree.port(name, port, **{key.removeprefix("port_"): value.split()[0]})
        elif key == "phys_state":
            tree.port(name, port, phys_state=value.split()[0])
        elif key == "link_layer":
            tree.port(name, port, link_layer=shown.get(name, value))
        elif match := re.match(r"\s*GID\[\s*(\d+)\]:\s*(\S+?),?(?:\s+(RoCE v\d))?$", line):
            kind = _kind(match.group(3)) if match.group(3) else None
            tables.setdefault((name, port), {})[int(match.group(1))] = (match.group(2), kind, None)
    for (name, port), table in tables.items():
        tree.gids(name, port, table)
        if "link_layer" not in text:
            tree.port(name, port, state="ACTIVE", link_layer="Ethernet")
    return tree.manifest


def show_gids(text: str) -> Manifest:
    tree = Tree()
    tables: dict[tuple[str, str], dict[int, Entry]] = {}
    row = r"\s*(\S+)\s+(\d+)\s+(\d+)\s+([0-9a-f:]{15,})\s+(?:[\d.]+\s+)?(v[12])(?:\s+(\S+))?\s*$"
    for match in re.finditer(row, text, re.MULTILINE):
        name, port, index, gid, version, ndev = match.groups()
        tables.setdefault((name, port), {})[int(index)] = (gid, _kind(version), ndev)
    for (name, port), table in tables.items():
        tree.port(name, port, state="ACTIVE", phys_state="LinkUp", link_layer="Ethernet")
        tree.gids(name, port, table)
    return tree.manifest


def ibdev2netdev(text: str) -> Manifest:
    tree = Tree()
    row = r"^(?:\S+ )?(\S+)\s+port\s+(\d+)(?:\s+\(.*?\))?\s+==>\s+(\S+)\s+\((Up|Down)\)"
    for match in re.finditer(row, text, re.MULTILINE):
        name, port, netdev, _up = match.groups()
        tree.port(name, port, state="ACTIVE", phys_state="LinkUp")
        tree.netdev(name, netdev)
    return tree.manifest


def rdma_link(text: str) -> Manifest:
    """Turn `rdma link`, as JSON or as text, into a tree."""
    tree = Tree()
    if text.lstrip().startswith("["):
        links = json.loads(text)
    else:
        row = r"^link (\S+)/(\d+)\s+(.*)$"
        links = [
            {"ifname": name, "port": port, **dict(zip(*[iter(rest.split())] * 2, strict=False))}
            for name, port, rest in re.findall(row, text, re.MULTILINE)
        ]
    for link in links:
        name, port = link["ifname"], str(link["port"])
        tree.port(name, port, state=link["state"], phys_state=link["physical_state"], link_layer="Ethernet")
        if "netdev" in link:
            tree.netdev(name, link["netdev"])
    return tree.manifest


def flattened(text: str) -> Manifest:
    """Turn `path = repr(content)` and `path -> target` into a tree; a list is what a directory holds."""
    manifest = Tree().manifest
    folders = {}
    for line in text.splitlines():
        path, arrow, target = line.partition(" -> ")
        if arrow:
            manifest["links"][f"{CLASS}/{path}"] = target
            folders[path] = "/sys/" + target.removeprefix("../../")
    for line in text.splitlines():
        path, equals, value = line.partition(" = ")
        if not equals:
            continue
        name, _slash, rest = path.partition("/")
        place = f"{folders.get(name, f'{CLASS}/{name}')}/{rest}"
        content = ast.literal_eval(value)
        if isinstance(content, list):
            manifest["directories"] += [f"{place}/{entry}" for entry in content]
        else:
            manifest["files"][place] = content + "\n" if content else ""
    return manifest


def ttar(text: str) -> Manifest:
    """Turn the archive format of procfs' fixtures into a tree."""
    manifest = Tree().manifest
    lines = iter(text.splitlines())
    path = ""
    for line in lines:
        if line.startswith("Path: "):
            path = line.partition("fixtures")[2]
        elif line.startswith("SymlinkTo: "):
            manifest["links"][path] = line.removeprefix("SymlinkTo: ")
        elif line.startswith("Lines: "):
            body = [next(lines) for _line in range(int(line.removeprefix("Lines: ")))]
            content = "".join(part + "\n" for part in body)
            manifest["files"][path] = content.replace("EOF\n", "").replace("NULLBYTE", "\0")
    return manifest


# By how the `kind` of a capture begins; the longer one first.
CONVERTERS: dict[str, Callable[[str], Manifest]] = {
    "ibstatus": ibstatus,
    "ibstat": ibstat,
    "sysfs link_layer + ibv_devinfo": ibv_devinfo,
    "ibv_devinfo": ibv_devinfo,
    "show_gids": show_gids,
    "ibdev2netdev": ibdev2netdev,
    "rdma link": rdma_link,
    "sysfs infiniband (flattened)": flattened,
    "sysfs infiniband (ttar)": ttar,
}


def converter(kind: str) -> Callable[[str], Manifest] | None:
    """Return what turns a capture of that kind into a tree."""
    return next((convert for name, convert in CONVERTERS.items() if kind.startswith(name)), None)
