# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of NCCL's variables as the library reads them, and how what it says it read differs from what was planned."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from .job import Variable
from .nccl_log import RankLog
from .transport import ReadVariable

PREFIXES = ("NCCL_", "RCCL_")
LEGACY = ("LOC", "PIX", "PXB", "PHB", "SYS")  # the meaning of the old numbers: 0 to 4, and all above 4
LEVELS = ("NCCL_NET_GDR_LEVEL", "NCCL_P2P_LEVEL")
# `[^][=]name,…`, in any order (src/misc/utils.cc).
LISTS = ("NCCL_IB_HCA", "NCCL_SOCKET_IFNAME")
# Compared by strcasecmp.
CASELESS = ("NCCL_ALGO", "NCCL_PROTO")
# What NCCL does not log that it has read (debug.cc, init.cc, param.cc).
NOT_LOGGED = (
    *("NCCL_DEBUG", "NCCL_NET", "NCCL_CONF_FILE", "NCCL_VERSION", "NCCL_NET_MERGE_LEVEL", "NCCL_P2P_DISABLE"),
    *("NCCL_NET_PLUGIN", "NCCL_TUNER_PLUGIN", "NCCL_PROFILER_PLUGIN"),  # before 2.28
    *("NCCL_ASYNC_ERROR_HANDLING", "NCCL_BLOCKING_WAIT", "NCCL_DESYNC_DEBUG"),  # torch's old names
)
# How much of a value a record of the log keeps (rank.py there).
LONGEST = 200
# Layers of the plan that no launch has set: not all of their variables are the library's.
INHERITED = ("login", "image", "nccl.conf")
_LIST = re.compile(r"(\^?=?)(.*)", re.DOTALL)
PLUGIN = "NCCL's plugin"


def integer(text: str) -> int | None:
    """Read a number as the library does (strtoll with base 0: 0x… hexadecimal, 0… octal); else None."""
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


def are_alike(name: str, one: str, other: str) -> bool:
    """Return whether two values of a variable mean the same to the library."""
    one, other = one[:LONGEST], other[:LONGEST]
    if name in LEVELS:
        one, other = _level(one), _level(other)
    numbers = integer(one), integer(other)
    if one == other or numbers == (None, None):
        return one == other or _words(name, one) == _words(name, other)
    return numbers[0] == numbers[1]


def _level(value: str) -> str:
    number = integer(value)
    return value if number is None else LEGACY[max(0, min(number, len(LEGACY) - 1))]


def _words(name: str, value: str) -> object:
    match = _LIST.fullmatch(value)
    if name in LISTS and match:
        return match[1], frozenset(filter(None, match[2].split(",")))
    return value.lower() if name in CASELESS else value


def compare(planned: Sequence[Variable], elsewhere: Sequence[Variable], ranks: Sequence[RankLog]) -> list[ReadVariable]:
    """Return the variables that NCCL read with another value than planned, without a plan, or not at all.

    elsewhere: what is set outside of the launch, in files of NCCL, by the login or the image.
    """
    wanted = {item.name: item for item in planned if _is_logged(item.name)}
    read: dict[str, dict[str, None]] = {}
    for rank in ranks:
        for name, value in rank.env.items():
            read.setdefault(name, {})[value] = None
    by_plugin = {name: value for rank in ranks for name, value in rank.env_set_by_plugin.items()}
    return [
        *_different(wanted, read, elsewhere, by_plugin),
        *(
            ReadVariable(name, item.value, item.origin)
            for name, item in wanted.items()
            if name not in read and name not in by_plugin and item.layer not in INHERITED
        ),
    ]


def _is_logged(name: str) -> bool:
    return name.startswith(PREFIXES) and name not in NOT_LOGGED and not name.startswith("NCCL_DEBUG_")


def _different(
    wanted: Mapping[str, Variable],
    read: Mapping[str, Collection[str]],
    elsewhere: Iterable[Variable],
    by_plugin: Mapping[str, str],
) -> Iterator[ReadVariable]:
    sources = list(elsewhere)
    for name, values in sorted(read.items()):
        item = wanted.get(name)
        other = next((value for value in values if item is None or not are_alike(name, item.value, value)), None)
        if other is None or not _is_logged(name):
            continue
        origins = [source.origin for source in sources if source.name == name and are_alike(name, source.value, other)]
        origins += [PLUGIN] if name in by_plugin else []
        planned, origin = (item.value, item.origin) if item else (None, None)
        yield ReadVariable(name, planned, origin, other, next(iter(origins), None))
