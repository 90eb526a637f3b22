# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lint of single values: numbers, words, GIDs, levels."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable

from .. import known_variables, tuning
from ..gid import DYNAMIC
from ..gid_table import parse_range, v2_entries
from ..ports import ETHERNET, HcaPort
from ..view import NodeView
from .list_rules import Fault

# The least, and the most; NCCL takes the stricter of the old and the new names.
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
# graph/topo.cc topoPathTypeStr: exact, upper case; an unknown word is the default, without a word of NCCL's.
WORDS = {
    "nccl": ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"),
    "rccl": ("LOC", "XGMI", "NVB", "PIX", "PXB", "PXN", "PHB", "SYS"),
}
LEGACY = ("LOC", "PIX", "PXB", "PHB", "SYS")  # what the old numbers mean: 0 to 4, and all above 4
LEVELS = ("NCCL_NET_GDR_LEVEL", "NCCL_P2P_LEVEL")
# Least, most and why: bits of the queue pair's attributes (ibv_modify_qp), else what the source distinguishes.
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
# graph/tuning.cc, in any case of letters; COLLNET was the name of two before 2.14.
LISTED = {
    "NCCL_ALGO": ("Tree", "Ring", "CollNet", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"),
    "NCCL_PROTO": ("LL", "LL128", "Simple"),
}
COLLECTIVES = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce")  # `allreduce:ring;…` since 2.24
DEBUG = ("VERSION", "WARN", "ATTN", "INFO", "ABORT", "TRACE", "NONE")


def integer(text: str) -> int | None:
    """Read as the library does (strtoll with base 0: 0x… is hexadecimal, 0… octal); None where it takes its default."""
    match = re.fullmatch(r"\s*([+-]?)(0[xX][0-9a-fA-F]{1,16}|[0-9]{1,18})", text)
    if match is None:
        return None
    sign, digits = match.groups()
    base = 16 if digits[:2] in ("0x", "0X") else 8 if digits.startswith("0") and digits != "0" else 10
    try:
        value = int(digits, base)
    except ValueError:
        return None
    return -value if sign == "-" else value


def is_on(value: str) -> bool:
    """Say whether a switch such as NCCL_IB_DISABLE is on."""
    return (integer(value) or 0) != 0


def numbers(name: str, value: str) -> list[Fault]:
    """Find numbers that are read otherwise than they look."""
    if name.startswith(("NCCL_", "RCCL_")) and re.fullmatch(r"[+-]?0[0-9]+", value):
        read = integer(value)
        seen = "a leading zero makes it octal" + (f": {read}" if read is not None else ", and it is no octal number")
        return [(seen, "a number without leading zeros", f"write {int(value)}")]
    if name in NUMBERS and value and integer(value) is None:
        return [("no whole number, so the library takes its default", "a whole number", "correct it, or take it out")]
    return []


def out_of_range(node: NodeView, name: str, value: str) -> list[Fault]:
    """Find numbers that no library of the node takes as they are."""
    number = integer(value)
    if number is None:
        return []
    if name in RANGES:
        least, most, what = RANGES[name]
        if least <= number <= most:
            return []
        return [(f"{number} is out of range{what}", f"{least} to {most}", "correct it, or take it out")]
    if name in (*tuning.CHANNELS, tuning.THREADS):
        wrong = [tuning.out_of_range(name, number, library) for library in tuning.libraries(node)]
        if all(wrong) and wrong[0] is not None:
            return [("the library does not take this number as it is", wrong[0][0], "correct it, or take it out")]
    return []


def words(name: str, value: str) -> list[Fault]:
    """Find words that the library does not know, or that do nothing."""
    if not value:
        return []
    if name == "NCCL_DEBUG":
        return debug(value)
    if name == "NCCL_IB_ADDR_RANGE" and parse_range(value) is None:
        return [("no network, so NCCL ignores it", "address/bits, as 10.2.0.0/16", "correct it, or take it out")]
    if name == "NCCL_IB_ADDR_FAMILY" and value not in ("AF_INET", "AF_INET6"):
        return [("unknown, so NCCL takes AF_INET", "AF_INET or AF_INET6", "correct it, or take it out")]
    if name in LISTED:
        known = {each.lower() for each in (*LISTED[name], *COLLECTIVES)}
        wrong = [word for word in re.split(r"[,;:]", value.replace("^", "")) if word.lower() not in known]
        if wrong:
            seen = f"the library knows no {', '.join(repr(word) for word in wrong)}"
            return [(seen, f"unset, or of {', '.join(LISTED[name])}", "take it out, or correct it")]
    return []


def level(node: NodeView, name: str, value: str) -> list[Fault]:
    """Find distances that the library does not know, or that mean something else than they look like."""
    words = WORDS[node.library.name]
    library = node.library.name.upper()
    if value in words:
        if name == "NCCL_P2P_LEVEL" and value == "NVL":
            return [("it removes P2P over PCIe", "unset: NCCL reads the topology itself", "take it out")]
        return []
    number = integer(value)
    if number is not None and number >= 0:
        word = LEGACY[min(number, len(LEGACY) - 1)]
        switch = "; it is a distance, not a switch" if name == "NCCL_NET_GDR_LEVEL" else ""
        return [(f"the number means {word}{switch}", "unset, or a word", f"take it out, or write {word}")]
    other = "; RCCL's word is XGMI" if value == "NVL" else "; NCCL's word is NVL" if value == "XGMI" else ""
    seen = f"{library} does not know it and takes its default, silently{other}"
    return [(seen, f"unset, or one of {', '.join(words)}", "take it out")]


def gid_index(node: NodeView, value: str, ports: list[HcaPort]) -> list[Fault]:
    """Find a forced GID index that is not the RoCE v2 entry on every HCA, or that nobody reads."""
    index = integer(value)
    if index is None or not ports:
        return []
    roce = [each for each in ports if each.port.link_layer == ETHERNET]
    if not roce:
        return [("ignored on InfiniBand", "unset", "take it out")] if index >= 0 else []
    if index < 0:
        version = node.library.version
        if version is not None and version < DYNAMIC:
            return [("before 2.21 it is taken as it is", "the index of the RoCE v2 entry", "name it")]
        return []
    wrong = []
    for each in roce:
        right = [gid.index for family in (4, 6) for gid, _address in v2_entries(each.port.gids, family)]
        if index not in right:
            found = next((gid for gid in each.port.gids if gid.index == index), None)
            there = f"{found.type or 'unknown type'} {found.address or found.gid}" if found else "empty"
            wrong.append(f"{each.label}: {there}{f', RoCE v2 is {right[0]}' if right else ''}")
    if not wrong:
        return []
    seen = f"index {index} is not a RoCE v2 address on every HCA ({'; '.join(wrong)})"
    return [(seen, "the index of the RoCE v2 entry, or unset from NCCL 2.21 on", "take it out")]


def debug(value: str) -> list[Fault]:
    """Find debug levels that do not do what they say."""
    if value.upper() == "TRACE":
        seen = "TRACE needs a library built for it; others print INFO, much of it"
        return [(seen, "WARN, or INFO for one run", "write INFO")]
    if value and value.upper() not in DEBUG:
        return [("no level, so nothing is printed", f"one of {', '.join(DEBUG[:4])}", "correct it")]
    return []


def least_and_most(values: Mapping[str, Variable]) -> list[tuple[Variable, Variable]]:
    """Return the pairs whose least is more than their most."""
    found = []
    for low, high in PAIRS:
        least, most = values.get(low), values.get(high)
        if least is None or most is None:
            continue
        bottom, top = integer(least.value), integer(most.value)
        if bottom is not None and top is not None and bottom > top:
            found.append((least, most))
    return found
