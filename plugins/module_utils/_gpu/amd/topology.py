# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables between GPUs that rocm-smi and amd-smi print.

`rocm-smi --showtopo…` names its GPUs GPU0 …, `amd-smi topology` by PCI address. A table is a heading, a line of GPUs
and a line for each GPU; it is read by words, never by columns, because rocm-smi mixes tabs, blanks and error lines.
"""

from __future__ import annotations

import re

from ..._records.frozen import field, frozen

# rocm_smi.py: showType, showWeight, …; amdsmi_commands.py: topology
_RULE_HEADING = re.compile(r"=+ (\S.*\S) =+")
_TABLE_HEADING = re.compile(r"([A-Z][A-Z -]* TABLE):")
_DEVICE = re.compile(r"GPU ?\[?(\d{1,4})\]?[ \t]*:")
_GPU = re.compile(r"GPU(\d{1,4})")
BDF = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]", re.IGNORECASE)
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_COMPLAINT = re.compile(r"\b(?:ERROR|WARNING|Not supported|Cannot read)\b")
LINK_WORDS = ("XGMI", "PCIE")

Table = dict[tuple[int, int], str]


@frozen
class ToolTables:
    """What a tool printed: its GPUs by its own numbers, its tables (heading -> pair -> cell) and its complaints.

    devices has the `GPU[n] : name: value` lines, names in lower case.
    """

    gpus: list[int] = field(default_factory=list)
    addresses: dict[int, str] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    devices: dict[int, dict[str, str]] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)


def parse_tables(text: str) -> ToolTables:
    """Return the tables of rocm-smi or `amd-smi topology`; truncated or damaged parts are left out."""
    topology = ToolTables()
    numbers = _Numbers()
    name, table = "", {}
    columns: list[int] = []
    for line in map(str.strip, _ANSI.sub("", text).splitlines()):
        if not line:
            continue
        if line == "Legend:":
            break
        words = line.split()
        heading = _RULE_HEADING.fullmatch(line) or _TABLE_HEADING.fullmatch(line)
        device = _DEVICE.match(line)
        name_of_fact, colon, value = line[device.end() :].partition(":") if device else ("", "", "")
        if heading:
            name, columns = heading.group(1), []
        elif device and colon:
            fact = name_of_fact.replace("(Topology)", "").strip().lower()
            topology.devices.setdefault(int(device.group(1)), {})[fact] = value.strip()
        elif _COMPLAINT.search(line):
            topology.complaints.append(line)
        elif all(map(_is_label, words)) and (len(words) > 1 or not columns):
            columns = [numbers.of(word) for word in words]
            table = topology.tables[name] = {}
        elif _is_label(words[0]) and len(words) - 1 <= len(columns):
            row = numbers.of(words[0])
            table.update({(row, column): cell for column, cell in zip(columns, words[1:])})
    topology.gpus.extend(sorted({*numbers.numbers, *topology.devices}))
    topology.addresses.update(numbers.addresses)
    for number, details in topology.devices.items():
        if BDF.fullmatch(details.get("pci bus", "")):
            topology.addresses[number] = details["pci bus"].lower()
    return topology


def link_types(topology: ToolTables) -> Table:
    """Return XGMI or PCIE for the pairs a < b whose link the tool knows; a pair with two types is unknown.

    The link types are the table with these words in it: rocm-smi can print them below another one's heading.
    """
    types: dict[tuple[int, int], set[str]] = {}
    for table in topology.tables.values():
        for (a, b), word in table.items():
            if a != b and word in LINK_WORDS:
                types.setdefault((min(a, b), max(a, b)), set()).add(word)
    return {pair: words.pop() for pair, words in types.items() if len(words) == 1}


def _is_label(word: str) -> bool:
    return bool(_GPU.fullmatch(word) or BDF.fullmatch(word))


class _Numbers:
    """The tool's number of a GPU: the digits of GPU3, or the position of an address in its list."""

    def __init__(self) -> None:
        self.numbers: set[int] = set()
        self.addresses: dict[int, str] = {}
        self._places: dict[str, int] = {}

    def of(self, label: str) -> int:
        match = _GPU.fullmatch(label)
        if match:
            number = int(match.group(1))
        else:
            number = self._places.setdefault(label.lower(), len(self._places))
            self.addresses[number] = label.lower()
        self.numbers.add(number)
        return number
