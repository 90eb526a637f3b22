# SPDX-License-Identifier: GPL-3.0-or-later
"""The INFO messages of NCCL and RCCL, each by its first word: what they set of a rank.

The forms are those of NCCL 2.4 to 2.30 and of RCCL (init.cc, bootstrap.cc, transport.cc, net_ib, net_socket.cc and
plugin/net.cc of their releases), of NVIDIA's and Mellanox's network plugins, and of aws-ofi-nccl.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .._records.nccl_log import LogAddress
from .edges import parse_edge
from .rank import RankState, short

_HCA = re.compile(r"\[(\d{1,4})\]([^\s:\[\]]{1,64}):(\d{1,4})(?::-?\d{1,4}){0,2}/(\w{1,16})(/SHARP)?", re.ASCII)
# A device that is made of several ports, as 2.20 to 2.23 list it: [0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE}.
_MERGED = re.compile(r"\{([^{}]{1,400})\}")
_MEMBER = re.compile(r"\[\d{1,4}\] ([^\s:\[\]]{1,64}):(\d{1,4})/(\w{1,16})", re.ASCII)
_PORTS = re.compile(r"\bndevs=(\d{1,4})", re.ASCII)
_SOCKET = re.compile(r"\[\d{1,4}\]([^\s:\[\]]{1,32}):(\S{1,64}?)<\d+>", re.ASCII)
_OOB = re.compile(r"OOB ([^\s:]{1,32}):(\S{1,64}?)<\d+>", re.ASCII)
_BOOTSTRAP = re.compile(r"Using (?:\[\d+\])?([^\s:]{1,32}):(\S{1,64}?)<\d+>", re.ASCII)
_GDR_HCA = re.compile(r"GPU Direct RDMA (Enabled|Disabled) for HCA \d+ '([^']{1,64})'", re.ASCII)
_REFUSED = re.compile(r"GPU Direct RDMA Disabled for .*\((.{1,80})\)")
_COMM = re.compile(r"\brank (\d{1,9}) n[rR]anks (\d{1,9})\b", re.ASCII)
_NODES = re.compile(r"\bnNodes (\d{1,9})\b(?:.*\bMNNVL (\d))?", re.ASCII)
_BUS = re.compile(r"\bbusId (\w{1,16})\b", re.ASCII)
_CHANNELS = re.compile(r"(\d{1,9}) (coll|collnet|nvls|p2p) channels(?! per peer)", re.ASCII)
_RINGS = re.compile(r"use ring PXN (\d{1,9}) GDR (\d)", re.ASCII)
_ENV = re.compile(r"([NR]CCL_\w{1,60}) set (?:by environment )?to (.*)", re.DOTALL)
_OFI_ENV = re.compile(r"Setting ([NR]CCL_\w{1,60})(?: environment variable)? to (.*)", re.DOTALL)
_PROVIDER = re.compile(r"Selected [Pp]rovider is ([\w;+]{1,40})(?:.*\(found (\d{1,9}) nics\))?", re.ASCII)
_VERSION = re.compile(r"(?:\b([NR])CCL|\bHIP) version\s*:?\s*(\d[\w.+:-]{0,60})", re.ASCII)
_LOADED = re.compile(r"Loaded (\w{1,20}) plugin (.*)")
_ASSIGNED = re.compile(r"(?:Initialized|Assigned) (\w{1,20}) plugin (.*?)(?: to comm)?")
_NET_SPEED = re.compile(r"NET\[\d[\d.]{0,9}\] - NET/\w*?-?(\w+) \(.*/(\d{1,6}(?:\.\d{1,6})?)\)", re.ASCII)
_GPU = re.compile(r"\bGPU/([\w-]{1,24}) \(", re.ASCII)
_PCI = re.compile(r"\bPCI\[(\d{1,6}\.\d{1,6})\] - ([\w/-]{1,32})", re.ASCII)


def version_of(message: str) -> dict[str, str]:
    """Return library and version of a line that names them, even one that nothing precedes."""
    match = _VERSION.search(message)
    if match is None:
        return {}
    return {"library": f"{match[1]}CCL", "version": match[2]} if match[1] else {"library": "RCCL"}


def _read_net(rank: RankState, message: str) -> None:
    name = message.split(None, 1)[0].partition("/")[2]
    gdr = _GDR_HCA.search(message)
    if gdr:
        if "Socket" not in name:  # of which it is said as a matter of course
            rank.put("gdr_hcas", gdr[2].replace("_dma", ""), gdr[1] == "Enabled")
    elif "No device found" in message:
        rank.note(opened=False)
        rank.facts.setdefault("choice_line", short(message))
    elif "Made virtual device" in message:
        # Since 2.24 NCCL says so of every device, most of which have one port.
        ports = _PORTS.search(message)
        if ports is None or int(ports[1]) > 1:
            rank.note(merged_nics=True)
    elif ": Using" in message:
        hcas = _HCA.findall(message) or _read_merged(rank, message)
        for index, device, port, link, sharp in hcas:
            # What is in front of a Data Direct device of ConnectX-8 is logged with a suffix since 2.27.
            rank.put("hcas", int(index), (re.sub("_dma$", "", device), int(port), link, bool(sharp)))
        if hcas:
            rank.note(opened=True, relaxed_ordering="[RO]" in message)
        else:
            for interface, address in _SOCKET.findall(message):
                rank.put("sockets", interface, (short(address),))
        oob = _OOB.search(message)
        if oob:
            rank.note(oob=_address(oob))
        # A release before 2.6 does not name its choice, and asks the next network only if the first has no device.
        rank.facts.setdefault("network", short(name)[:40])
        rank.note(choice_line=rank.facts.get("choice_line") or short(message))


def _read_merged(rank: RankState, message: str) -> list[tuple[str, str, str, str, str]]:
    """Return the ports of devices that may have several, as `_HCA` finds them; note whether one has."""
    devices = [_MEMBER.findall(text) for text in _MERGED.findall(message)]
    if any(len(ports) > 1 for ports in devices):
        rank.note(merged_nics=True)
    return [(str(index), *port, "") for index, port in enumerate(port for ports in devices for port in ports)]


def _address(match: re.Match[str]) -> LogAddress:
    return LogAddress(short(match[1]), short(match[2]))


def _read_choice(rank: RankState, message: str) -> None:
    if message.startswith("Using network "):
        network = short(message[len("Using network ") :])[:40]
        rank.note(network=network, choice_line=short(message))


def _read_plugin(rank: RankState, message: str) -> None:
    if "librccl" in message:
        rank.facts.setdefault("library", "RCCL")
    loaded = _LOADED.search(message)
    if loaded:
        rank.put("plugins", loaded[1].lower(), short(loaded[2]))
    elif "No plugin found" in message or "Could not find" in message:
        rank.facts.setdefault("plugins", {}).setdefault("net", "internal")


def _read_plugin_path(rank: RankState, message: str) -> None:
    if message.startswith("Plugin Path"):
        rank.put("plugins", "path", short(message.partition(":")[2]))


def _read_p2p_plugin(rank: RankState, message: str) -> None:
    if message.startswith("P2P plugin "):
        rank.put("plugins", "p2p", short(message[len("P2P plugin ") :]))


def _read_assigned(rank: RankState, message: str) -> None:
    match = _ASSIGNED.fullmatch(message.strip())
    if match:
        rank.put("plugins", match[1].lower(), short(match[2]))
        rank.add_version(2, 30 if match[1] == "RMA" else 27)


def _read_ofi(rank: RankState, message: str) -> None:
    rank.facts.setdefault("plugins", {}).setdefault("ofi", "aws-ofi-nccl")
    provider, setting = _PROVIDER.search(message), _OFI_ENV.search(message)
    if provider:
        rank.note(provider=provider[1])
        if provider[2]:
            rank.note(provider_nics=int(provider[2]))
    elif setting:
        rank.put("env_set_by_plugin", setting[1], short(setting[2]).strip('"'))
    elif "DMA-BUF registrations:" in message:
        rank.note(dmabuf="true" in message)


def _read_bootstrap(rank: RankState, message: str) -> None:
    match = _BOOTSTRAP.search(message)
    if match:
        rank.note(bootstrap=_address(match))


def _read_gpu_direct(rank: RankState, message: str) -> None:
    match = _REFUSED.search(message)
    if match:
        rank.note(gdr_refused=short(match[1]))


def _read_dmabuf(rank: RankState, message: str) -> None:
    if "is available" in message:
        rank.note(dmabuf=True)


def _read_comm(rank: RankState, message: str) -> None:
    match, bus = _COMM.search(message), _BUS.search(message)
    if match is None:
        return
    rank.add_comm(int(match[1]), int(match[2]))
    if bus:
        rank.note(bus_id=bus[1])
    nodes = _NODES.search(message)
    if nodes:
        rank.add_nodes(int(nodes[1]), nodes[2] == "1")
    if message.startswith("[Rank"):
        rank.add_version(2, 29)
    elif message.startswith("ncclComm"):
        rank.add_version(2, 21)
    if "Init START" in message:
        rank.note(init_started=True)
        rank.add_version(2, 18)
    elif "Init COMPLETE" in message:
        rank.note(init_started=True, init_complete=True)


def _read_connected(rank: RankState, message: str) -> None:
    if message.startswith("Connected all rings"):
        rank.note(rings=True)
        match = _RINGS.search(message)
        if match:
            rank.add_version(2, 24)
            # Of several communicators, one whose rings lack it counts.
            gdr = match[2] == "1" and rank.facts.get("ring_gdr") is not False
            rank.note(ring_pxn=int(match[1]), ring_gdr=gdr, ring_line=short(message))


def _read_channels(rank: RankState, message: str) -> None:
    for count, kind in _CHANNELS.findall(message):
        rank.put("channels", kind, int(count))


def _read_env(rank: RankState, message: str) -> None:
    match = _ENV.match(message)
    if match:
        # Since 2.5 NCCL ends the line of most variables with a period that is not a part of the value.
        value = match[2].rstrip()
        rank.put("env", match[1], short(value[:-1] if "by environment" in message and value[-1:] == "." else value))


def _read_version(rank: RankState, message: str) -> None:
    rank.note(**version_of(message))


def _read_channel(rank: RankState, message: str) -> None:
    edge = parse_edge(message)
    if edge:
        rank.add_edges(edge.transport, 1)
        rank.add_channel(edge.transport, edge.channel)
        rank.show_edge(edge, message)


READERS: dict[str, Callable[[RankState, str], None]] = {
    **dict.fromkeys(("NET/IB", "NET/Socket", "NET/FastSocket", "NET/IB:"), _read_net),
    **dict.fromkeys(("NET/Plugin", "NET/Plugin:"), _read_plugin),
    **dict.fromkeys(("Bootstrap", "Bootstrap:"), _read_bootstrap),
    **dict.fromkeys(("Initialized", "Assigned"), _read_assigned),
    **dict.fromkeys(("comm", "[Rank", "Init"), _read_comm),
    **dict.fromkeys(("NCCL", "RCCL", "HIP"), _read_version),
    **dict.fromkeys(("Channel", "Ring"), _read_channel),
    "Using": _read_choice,
    "Plugin": _read_plugin_path,
    "P2P": _read_p2p_plugin,
    "NET/OFI": _read_ofi,
    "GPU": _read_gpu_direct,
    "DMA-BUF": _read_dmabuf,
    "Connected": _read_connected,
}


def reader_of(word: str) -> Callable[[RankState, str], None] | None:
    """Return the reader of messages that begin with this word; None for most."""
    if word in READERS:
        return READERS[word]
    if word.startswith(("NCCL_", "RCCL_")):
        return _read_env
    if word.startswith("ncclComm"):
        return _read_comm
    return _read_channels if word.isdigit() else None


def read_topology(gpus: dict[str, None], nets: dict[str, float], slow_pci: dict[str, float], message: str) -> None:
    """Add what a line of the graph shows: `+ PCI[48.0] - GPU/0-68000 (8)`, `+ NET[50.0] - NET/0 (0/…/1/50.000000)`."""
    for gpu in _GPU.findall(message):
        gpus[gpu] = None
    for name, speed in _NET_SPEED.findall(message):
        nets[name] = float(speed)
    for speed, name in _PCI.findall(message):
        if float(speed) < 1:
            slow_pci[name] = float(speed)
