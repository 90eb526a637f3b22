# SPDX-License-Identifier: GPL-3.0-or-later
"""Lint of single values: numbers, words, GIDs, levels."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.module_utils._records.nccl_values import LEGACY, integer

from .. import known_variables, tuning
from ..gid import DYNAMIC
from ..gid_table import parse_range, v2_entries
from ..ports import ETHERNET, HcaPort
from ..view import NodeView
from .list_rules import Fault

# Minimum and maximum; NCCL takes the stricter of the old and the new names.
PAIRS = (
    ("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"),
    ("NCCL_MIN_CTAS", "NCCL_MAX_CTAS"),
    ("NCCL_MIN_NCHANNELS", "NCCL_MAX_CTAS"),
    ("NCCL_MIN_CTAS", "NCCL_MAX_NCHANNELS"),
    ("NCCL_MIN_P2P_NCHANNELS", "NCCL_MAX_P2P_NCHANNELS"),
)
NUMBERS = frozenset(name for pair in PAIRS for name in pair) | known_variables.nccl("""
        BUFFSIZE CROSS_NIC CUMEM_ENABLE DMABUF_ENABLE IB_ADAPTIVE_ROUTING IB_AR_THRESHOLD IB_DISABLE IB_FIFO_TC
        IB_GID_INDEX IB_MERGE_NICS IB_PCI_RELAXED_ORDERING IB_PKEY IB_QPS_PER_CONNECTION IB_RETRY_CNT
        IB_ROCE_VERSION_NUM IB_SL IB_SPLIT_DATA_ON_QPS IB_TC IB_TIMEOUT LL_BUFFSIZE LL128_BUFFSIZE MNNVL_ENABLE
        NCHANNELS_PER_NET_PEER NET_GDR_READ NSOCKS_PERTHREAD NTHREADS NVLS_ENABLE P2P_DISABLE P2P_NET_CHUNKSIZE
        PXN_DISABLE SHM_DISABLE SOCKET_NTHREADS""")
# graph/topo.cc topoPathTypeStr: exact, upper case; an unknown word silently means the default.
WORDS = {
    "nccl": ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"),
    "rccl": ("LOC", "XGMI", "NVB", "PIX", "PXB", "PXN", "PHB", "SYS"),
}
# Minimum, maximum and why: bits of the queue pair's attributes (ibv_modify_qp), else what the source distinguishes.
RANGES = {
    "NCCL_CROSS_NIC": (0, 2, ""),
    "NCCL_IB_FIFO_TC": (-1, 255, ""),
    "NCCL_IB_PCI_RELAXED_ORDERING": (0, 2, ""),
    "NCCL_IB_QPS_PER_CONNECTION": (1, 128, ""),
    "NCCL_IB_RETRY_CNT": (0, 7, ": the adapter has 3 bits for it"),
    "NCCL_IB_ROCE_VERSION_NUM": (1, 2, ""),
    "NCCL_IB_SL": (-1, 15, ": the adapter has 4 bits for it"),
    "NCCL_IB_TC": (-1, 255, ""),
    "NCCL_IB_TIMEOUT": (0, 31, ": the adapter has 5 bits for it"),
}
# graph/tuning.cc, in upper or lower case; before 2.14 COLLNET was the name of both.
LISTED = {
    "NCCL_ALGO": ("Tree", "Ring", "CollNet", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"),
    "NCCL_PROTO": ("LL", "LL128", "Simple"),
}
COLLECTIVES = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce")  # `allreduce:ring;…` since 2.24
DEBUG = ("VERSION", "WARN", "ATTN", "INFO", "ABORT", "TRACE", "NONE")


def is_on(value: str) -> bool:
    """Return whether a switch such as NCCL_IB_DISABLE is on."""
    return (integer(value) or 0) != 0


def numbers(name: str, value: str) -> list[Fault]:
    """Return numbers that are read differently than they look."""
    number = integer(value)
    if name.startswith(("NCCL_", "RCCL_")) and re.fullmatch(r"[+-]?0[0-9]+", value):
        reading = f": {number}" if number is not None else ", and it is not an octal number"
        return [(f"a leading zero makes it octal{reading}", "a number without leading zeros", f"write {int(value)}")]
    if name in NUMBERS and value and number is None:
        return [("not a whole number, so the library takes its default", "a whole number", "correct it, or remove it")]
    return []


def out_of_range(node: NodeView, name: str, value: str) -> list[Fault]:
    """Return numbers that no library of the node takes as they are."""
    number = integer(value)
    if number is None:
        return []
    if name in RANGES:
        least, most, what = RANGES[name]
        if least <= number <= most:
            return []
        return [(f"{number} is out of range{what}", f"{least} to {most}", "correct it, or remove it")]
    if name in (*tuning.CHANNELS, tuning.THREADS):
        wrong = [tuning.out_of_range(name, number, library) for library in tuning.libraries(node)]
        if all(wrong) and wrong[0] is not None:
            return [("the library changes this number", wrong[0][0], "correct it, or remove it")]
    return []


def words(name: str, value: str) -> list[Fault]:
    """Return words that the library does not know, or that have no effect."""
    if not value:
        return []
    if name == "NCCL_DEBUG" and value.upper() == "TRACE":
        observed = "TRACE needs a library built for it; others print INFO, which is a lot"
        return [(observed, "WARN, or INFO for one run", "write INFO")]
    if name == "NCCL_DEBUG" and value.upper() not in DEBUG:
        return [("not a level, so nothing is printed", f"one of {', '.join(DEBUG[:4])}", "correct it")]
    if name == "NCCL_IB_ADDR_RANGE" and parse_range(value) is None:
        return [("not a network, so NCCL ignores it", "address/bits, such as 10.2.0.0/16", "correct it, or remove it")]
    if name == "NCCL_IB_ADDR_FAMILY" and value not in ("AF_INET", "AF_INET6"):
        return [("unknown, so NCCL takes AF_INET", "AF_INET or AF_INET6", "correct it, or remove it")]
    if name in LISTED:
        known = {word.lower() for word in (*LISTED[name], *COLLECTIVES)}
        unknown = [word for word in re.split(r"[,;:]", value.replace("^", "")) if word.lower() not in known]
        if unknown:
            observed = f"the library does not know {', '.join(map(repr, unknown))}"
            return [(observed, f"unset, or of {', '.join(LISTED[name])}", "remove it, or correct it")]
    return []


def level(node: NodeView, name: str, value: str) -> list[Fault]:
    """Return distances that the library does not know, or whose meaning is not what they look like."""
    words = WORDS[node.library.name]

    if value in words:
        if name == "NCCL_P2P_LEVEL" and value == "NVL":
            return [("it disables P2P over PCIe", "unset: NCCL reads the topology itself", "remove it")]
        return []
    number = integer(value)
    if number is not None and number >= 0:
        word = LEGACY[min(number, len(LEGACY) - 1)]
        switch = "; it is a distance, not a switch" if name == "NCCL_NET_GDR_LEVEL" else ""
        return [(f"the number means {word}{switch}", "unset, or a word", f"remove it, or write {word}")]
    other = "; RCCL uses XGMI" if value == "NVL" else "; NCCL uses NVL" if value == "XGMI" else ""
    observed = f"{node.library.name.upper()} does not know it and silently takes its default{other}"
    return [(observed, f"unset, or one of {', '.join(words)}", "remove it")]


def gid_index(node: NodeView, value: str, ports: list[HcaPort]) -> list[Fault]:
    """Return a forced GID index that is not the RoCE v2 entry on every HCA, or that is ignored."""
    index = integer(value)
    if index is None or not ports:
        return []
    roce = [nic for nic in ports if nic.port.link_layer == ETHERNET]
    if not roce:
        return [("ignored on InfiniBand", "unset", "remove it")] if index >= 0 else []
    if index < 0:
        version = node.library.version
        if version is not None and version < DYNAMIC:
            return [("before 2.21 it is taken as it is", "the index of the RoCE v2 entry", "set the index")]
        return []
    wrong = []
    for nic in roce:
        right = [gid.index for family in (4, 6) for gid, _address in v2_entries(nic.port.gids, family)]
        if index not in right:
            gid = next((gid for gid in nic.port.gids if gid.index == index), None)
            entry = f"{gid.type or 'unknown type'} {gid.address or gid.gid}" if gid else "empty"
            wrong.append(f"{nic.label}: {entry}{f', RoCE v2 is {right[0]}' if right else ''}")
    if not wrong:
        return []
    observed = f"index {index} is not a RoCE v2 address on every HCA ({'; '.join(wrong)})"
    return [(observed, "the index of the RoCE v2 entry, or unset from NCCL 2.21 on", "remove it")]


def least_and_most(values: Mapping[str, Variable]) -> list[tuple[Variable, Variable]]:
    """Return the pairs whose minimum is above the maximum."""
    numbers = {name: number for name, item in values.items() if (number := integer(item.value)) is not None}
    return [
        (values[low], values[high])
        for low, high in PAIRS
        if low in numbers and high in numbers and numbers[low] > numbers[high]
    ]
