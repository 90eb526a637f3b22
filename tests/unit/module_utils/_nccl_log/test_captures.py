# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs of real clusters, and own ones for each release: what a reader must find in each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._nccl_log.parse import NcclLogParser
from ansible_collections.muster.train.plugins.module_utils._records.nccl_log import NcclLog, RankLog
from ansible_collections.muster.train.plugins.module_utils._records.nccl_verdict import NcclExpectation, judge
from ansible_collections.muster.train.tests.support.captures import captures, expected, text

# What a person knew of the capture beside its text, and remarks.
NOT_IN_THE_TEXT = {"made_by", "note", "kind", "forced", "plugin_failures_are_benign", "plugin_lines"}


def parse(data: str) -> NcclLog:
    parser = NcclLogParser()
    parser.feed(data.encode())
    parser.end_file()
    return parser.record()


def values(log: NcclLog, name: str) -> set[Any]:
    """The values of a field in all ranks that have one."""
    return {value for rank in log.ranks if (value := getattr(rank, name)) is not None}


def devices(ranks: list[RankLog]) -> list[int | None]:
    return sorted({rank.device for rank in ranks}, key=lambda device: (device is None, device or 0))


def variables(log: NcclLog) -> dict[str, str]:
    return {name: value for rank in log.ranks for name, value in {**rank.env, **rank.env_set_by_plugin}.items()}


def transports(log: NcclLog) -> set[str]:
    nets = {f"NET/{edges.network}{'/GDRDMA' * edges.gdr}" for rank in log.ranks for edges in rank.net}
    return nets | {name for rank in log.ranks for name in rank.local}


def hcas(log: NcclLog, keys: set[str]) -> dict[str, dict[str, Any]]:
    return {hca.name: {key: getattr(hca, key) for key in keys} for rank in log.ranks for hca in rank.hcas}


def sockets(log: NcclLog) -> dict[str, str | None]:
    return {socket.interface: socket.address for rank in log.ranks for socket in rank.sockets}


def errors(log: NcclLog, wanted: list[dict[str, Any]]) -> list[dict[str, Any]]:
    names = {"dev": "device", "from": "state", "to": "next_state"}
    shown = [error for rank in log.ranks for error in rank.errors if error.kind != "warning"]
    assert len(shown) == len(wanted)
    return [
        {key: (error.call or error.kind) if key == "type" else getattr(error, names.get(key, key)) for key in item}
        for error, item in zip(shown, wanted)
    ]


def observe(log: NcclLog, key: str, wanted: Any, capture: str) -> Any:
    """Return what was parsed in the words of the captures' expectations."""
    if key == "network":
        return next(iter(values(log, "network") | {edges.network for rank in log.ranks for edges in rank.net}), None)
    if key == "transport":
        return "plugin" if not values(log, "network") & {"IB", "Socket"} else None
    if key == "interfaces":
        return list(sockets(log)) if isinstance(wanted, list) else sockets(log)
    if key == "hosts_socket":
        return {rank.host: rank.sockets[0].interface for rank in log.ranks if rank.sockets}
    if key == "ib_used":
        return any("IB" in name for name in values(log, "network"))
    if key == "ib_device_found":
        return True in values(log, "opened")
    if key == "hcas":
        return hcas(log, set(next(iter(wanted.values()))))
    if key in ("relaxed_ordering", "library", "provider", "dmabuf", "nranks", "pxn", "gdr"):
        name = {"pxn": "ring_pxn", "gdr": "ring_gdr"}.get(key, key)
        return values(log, name).pop()
    if key == "oob":
        [oob] = {rank.oob.interface: rank.oob for rank in log.ranks if rank.oob}.values()
        return {name: {"ifname": oob.interface, "addr": oob.address}[name] for name in wanted}
    if key == "mixed_link_layers":
        return any(len({hca.link for hca in rank.hcas}) > 1 for rank in log.ranks)
    if key == "errors":
        return errors(log, wanted)
    if key == "version":
        [version] = values(log, "version") or {max(values(log, "version_at_least")) + ".x"}
        return version
    if key in ("plugin", "collnet_plugin"):
        return wanted if any(wanted in rank.plugins.values() for rank in log.ranks) else None
    if key == "ranks_seen":
        return devices([rank for rank in log.ranks if rank.network])
    if key in ("env", "env_set_by_plugin"):
        given = variables(log)
        # One has a remark behind its value.
        return {name: value if str(value).startswith(given.get(name, "?")) else None for name, value in wanted.items()}
    if key == "gdrdma":
        return all(edges.gdr for rank in log.ranks for edges in rank.net)
    if key == "net_devs":
        return sorted({nic for rank in log.ranks for edges in rank.net for nic in edges.nics})
    if key == "transports":
        return sorted(transports(log))
    if key in ("channels", "channels_min"):
        return max(rank.channels_used for rank in log.ranks)
    if key == "channels_seen":
        return list(range(max(rank.channels_used for rank in log.ranks)))
    if key.endswith("_channels"):
        return next(rank.channels[key.removesuffix("_channels")] for rank in log.ranks if rank.channels)
    if key == "connected_all_rings":
        return devices([rank for rank in log.ranks if rank.rings])
    if key in ("init_complete", "init_start"):
        return [rank.rank for rank in log.ranks if rank.init_complete or (key == "init_start" and rank.init_started)]
    if key == "busid":
        return {str(rank.rank): rank.bus_id for rank in log.ranks if rank.bus_id}
    if key == "nics":
        return values(log, "provider_nics").pop()
    if key == "dmabuf_gpu":
        return devices([rank for rank in log.ranks if rank.dmabuf])
    if key == "graph":
        return {
            "pci_bw_suspicious": min(log.topology.slow_pci.values()),
            # Of an excerpt that was cut further, only what is left of it.
            "gpus": [gpu for gpu in wanted["gpus"] if gpu in log.topology.gpus or gpu not in capture],
            "nets": log.topology.nets,
        }
    if key == "timestamp":
        return next(error.time for rank in log.ranks for error in rank.errors)
    if key == "verdict":
        # In words; all are of a fault, which the topology alone does not prove.
        verdict = judge(log, NcclExpectation("rdma", gdr=True)).verdict
        return wanted if verdict == ("unknown" if log.topology.slow_pci else "fail") else verdict
    raise KeyError(key)


@pytest.mark.parametrize("path", captures("nccl_log"))
def test_captures(path: Path) -> None:
    capture, wanted = text(path), expected(path)
    log = parse(capture)
    keys = [key for key in wanted if key not in NOT_IN_THE_TEXT]
    assert keys
    for key in keys:
        observed = observe(log, key, wanted[key], capture)
        if key in ("init_complete", "init_start", "transports"):
            assert sorted(observed) == sorted(wanted[key]), key
        else:
            assert observed == wanted[key], key
