# SPDX-License-Identifier: GPL-3.0-or-later
"""What real machines printed of their RDMA devices, turned back into sysfs, is read as it was."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._rdma.devices import read_rdma
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Hca, Port, Rdma
from ansible_collections.muster.train.tests.support import captures, rdma_trees
from ansible_collections.muster.train.tests.support.machines import Machine

# Not facts of an HCA: words about the capture, the resolver's answers, what the tool says beside the device.
NOT_FACTS = {"made_by", "kind", "note", "resolver", "error_line", "default_gid_text", "netdev_up", "active_mtu"}
NOT_FACTS |= {"pci_class", "default_gid"}


def same(observed: Any, wanted: Any) -> bool:
    """Compare as the captures have it: 4 for ACTIVE, Down for DOWN, PORT_ACTIVE, "0x12a" for 298, MT4129 (a name)."""
    if isinstance(wanted, int) and isinstance(observed, str):
        known = {"ACTIVE": 4, "DOWN": 1, "INIT": 2, "LinkUp": 5, "Polling": 2, "Disabled": 3, "CA": 1, "RNIC": 4}
        return known.get(observed) == wanted
    if isinstance(wanted, str) and isinstance(observed, int):
        return observed == int(wanted, 0)
    if isinstance(wanted, str) and isinstance(observed, str):
        return observed.upper() == wanted.removeprefix("PORT_").split(" (")[0].upper()
    return bool(observed == wanted)


def of_port(hca: Hca, port: Port, key: str, wanted: Any) -> bool | None:
    """Return whether one fact of a port (or of the device, for those with one) is as wanted; None: no such fact."""
    v2 = next((gid for gid in port.gids if gid.index == port.rocev2_gid_index), None)
    values: dict[str, Any] = {
        **{key: getattr(hca, key) for key in ("hca_type", "fw_ver", "board_id", "node_type", "numa_node")},
        **{key: getattr(port, key) for key in ("state", "phys_state", "link_layer", "lid", "sm_lid", "port")},
        "ca_type": hca.hca_type,
        "sysfs_link_layer": port.link_layer,
        "rate": port.rate_gbps,
        "rate_gbps": port.rate_gbps,
        "base_lid": port.lid,
        "port_lid": port.lid,
        "vendor": hca.vendor_id,
        "vendor_id": hca.vendor_id or "0x0000",
        "pci": hca.pci_address,
        "rocev2_ipv4_index": port.rocev2_gid_index,
        "rocev2_ipv4_addr": v2.address if v2 else None,
    }
    if key in values:
        return same(values[key], wanted)
    if key == "netdev":
        names = wanted if isinstance(wanted, list) else [wanted]
        return hca.netdevs == names and port.netdev == names[0]
    if key == "rate_text":
        return bool(wanted.startswith(f"{port.rate_gbps:g} Gb/sec"))
    if key == "no_hca_type_file":
        return (hca.hca_type is None) is wanted
    if key in ("soft_roce", "efa"):
        word = "software" if key == "soft_roce" else "EFA"
        return (not port.usable and any(word in reason for reason in port.reasons)) is wanted
    if key == "link_local_indexes":
        return same([gid.index for gid in port.gids if (gid.address or "").startswith("fe80::")], wanted)
    if key == "gids":
        return {gid.index: [gid.address, (gid.type or "").removeprefix("IB/")] for gid in port.gids} == {
            index: [address.removeprefix("::ffff:"), kind] for index, (address, kind) in wanted.items()
        }
    return None


def compare(hca: Hca, wanted: dict[str, Any], port: Port | None = None) -> dict[str, bool | None]:
    """Return per fact of one device whether it is as wanted."""
    result: dict[str, bool | None] = {}
    port = port or (hca.ports[0] if hca.ports else None)
    for key, value in wanted.items():
        if key in NOT_FACTS:
            continue
        if key == "ports":
            for number, facts in value.items():
                of_number = next(port for port in hca.ports if port.port == number)
                result.update({f"{number}.{name}": right for name, right in compare(hca, facts, of_number).items()})
        elif key == "virtual":
            result[key] = (hca.pci_address is None) is value
        elif key == "usable":
            result[key] = any(port.usable for port in hca.ports) is value
        elif port is None:
            result[key] = {"pci": hca.pci_address, "numa_node": hca.numa_node}.get(key) == value
        else:
            result[key] = of_port(hca, port, key, value)
    return result


def of_all(rdma: Rdma, key: str, wanted: Any) -> bool | None:
    """Return whether one fact of the whole capture is as wanted."""
    ports = [(hca, port) for hca in rdma.hcas for port in hca.ports]
    active = [(hca, port) for hca, port in ports if port.state == "ACTIVE"]
    if key in ("hca_count", "hca_count_listed"):
        return same(len(rdma.hcas), wanted)
    if key == "order_in_capture":
        return sorted(wanted) == sorted(hca.name for hca in rdma.hcas)
    if key == "active":
        return same(len(active), wanted)
    if key == "all_active":
        return (active == ports) is wanted
    if key == "link_layers":
        return {port.link_layer for _hca, port in ports} == set(wanted)
    if key in ("fastest", "slow"):
        at_rate = [hca for hca, port in ports if port.rate_gbps == wanted["rate"]]
        return [hca.name for hca in at_rate] == wanted["hcas"] and all(
            same(hca.hca_type, wanted["ca_type"]) for hca in at_rate
        )
    if key == "by_link_layer":
        return all(
            names == [hca.name for hca, port in ports if port.link_layer == layer] for layer, names in wanted.items()
        )
    if key in ("rate", "sm_lid", "ca_type", "link_layer"):
        # Of what is up: the rate of a port that is down is a default.
        return all(of_port(hca, port, key, wanted) for hca, port in (active or ports))
    if key == "usable":
        return {f"{hca.name}:{port.port}" for hca, port in ports if port.usable} == set(wanted)
    return None


def check(rdma: Rdma, wanted: dict[str, Any]) -> dict[str, bool | None]:
    """Return per fact whether it is as wanted, None where this test does not know the fact."""
    by_name = {hca.name: hca for hca in rdma.hcas}
    result: dict[str, bool | None] = {}
    single = by_name.get(wanted["hca"]) if isinstance(wanted.get("hca"), str) else None
    for key, value in wanted.items():
        if key in NOT_FACTS:
            continue
        nested = value if isinstance(value, dict) and set(value) <= set(by_name) else None
        if key == "hca" and isinstance(value, str):
            result[key] = list(by_name) == [value]
        elif key == "hca" and isinstance(value, list):
            result[key] = list(by_name) == value
        elif key in ("infiniband", "ethernet"):
            layer = {"infiniband": "InfiniBand", "ethernet": "Ethernet"}[key]
            names = [hca.name for hca in rdma.hcas if any(port.link_layer == layer for port in hca.ports)]
            result[key] = names == list(value)
        if nested is not None and key not in NOT_FACTS:
            for name, facts in nested.items():
                facts = facts if isinstance(facts, dict) else {key.removesuffix("s"): facts}
                result.update({f"{key}.{name}.{fact}": right for fact, right in compare(by_name[name], facts).items()})
        elif key not in result and (answer := of_all(rdma, key, value)) is not None:
            result[key] = answer
        elif key not in result and (single or len(by_name) >= 1):
            devices = [single] if single else list(by_name.values())
            answers = [compare(hca, {key: value}).get(key) for hca in devices]
            result[key] = None if None in answers else all(answers)
    return result


@pytest.mark.parametrize("path", [*captures.captures("rdma"), *captures.captures("sysfs", but="hwloc")])
def test_every_capture_is_read_as_it_was(path: Path, tmp_path: Path) -> None:
    wanted = captures.expected(path)
    convert: Callable[[str], dict[str, Any]] | None = rdma_trees.converter(wanted["kind"])
    assert convert is not None, f"nothing turns {wanted['kind']!r} into a tree"
    messages: list[str] = []
    rdma = read_rdma(Machine(convert(captures.text(path)), tmp_path), messages.append)
    assert Rdma.from_dict(rdma.to_dict()) == rdma
    result = check(rdma, wanted)
    unknown = [key for key, right in result.items() if right is None]
    if unknown:
        warnings.warn(f"{path.name}: this test does not know {unknown}", stacklevel=1)
    assert [key for key, right in result.items() if right is False] == []
    assert any(result.values())
    assert [line for line in messages if "scif0" not in line] == []
