# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of `nvidia-smi topo -m`, `-mp` and `-p2p X`.

Read by tokens, never by columns on the screen: a row is a name, a word for each label of the header, and the
affinities. Tabs or blanks, terminal colors, comment signs before a line, labels that touch, rows that are cut or
missing: the rest is read, and what is not certain is left out. Other makers' tools print the same table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..._records.frozen import frozen

# From the nearest to the farthest; SOC is SYS of drivers before 375. PSB and PIX are one board or one switch.
PCI_RELATIONS = {"PSB": "PIX", "PIX": "PIX", "PXB": "PXB", "PHB": "PHB", "NODE": "NODE", "SYS": "SYS", "SOC": "SYS"}
P2P_WORDS = frozenset({"OK", "CNS", "GNS", "TNS", "NS", "DR", "U"})
NVLINK = re.compile(r"NV([0-9]{1,4})", re.ASCII)

HEADER_TO_ROW = 3

_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|[()][0-9A-B])")
# A row as people quote it in a Markdown table has bars.
_DECORATION = str.maketrans("|\u2502\xa0", "   ")
_GPU = re.compile(r"GPU[0-9]{1,4}", re.ASCII)
# NICn since driver 510; before, the header has the names of the RDMA devices themselves.
_GLUED = re.compile(r"(?:GPU|NIC|mlx[0-9]_bond_|mlx[0-9]_)[0-9]{1,4}?(?=GPU|NIC|mlx[0-9]_|$)", re.ASCII)
_LABEL = re.compile(r"(?=[^0-9]{1,64}[0-9])[A-Za-z][A-Za-z0-9_.:@-]{1,63}", re.ASCII)
_AFFINITY = re.compile(r"(CPU|NUMA|Node)\s+Aff(?:inity)?|(GPU)\s+NUMA(?:\s+ID)?", re.IGNORECASE)
_FIELDS = {"cpu": "cpu", "numa": "numa", "node": "numa", "gpu": "gpu_numa_id"}
_WORD = re.compile(r"[A-Z][A-Z0-9]*|N/A|ERR!", re.ASCII)
_GLUED_WORDS = re.compile(r"(?:SYS|SOC|NODE|PHB|PXB|PIX|PSB|NV[0-9]+|X)+", re.ASCII)
_ONE_WORD = re.compile(r"SYS|SOC|NODE|PHB|PXB|PIX|PSB|NV[0-9]+|X", re.ASCII)
# The last word of a row and its affinity, if the blank between them is lost; not NV18, which ends in digits.
_WORD_AND_LIST = re.compile(
    r"\b((?:SYS|SOC|NODE|PHB|PXB|PIX|PSB|NV[0-9]+|X)*(?:SYS|SOC|NODE|PHB|PXB|PIX|PSB|X))(?=[0-9])", re.ASCII
)
_CPU_LIST = re.compile(r"[0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*", re.ASCII)
_LEGEND = re.compile(r"\b([A-Z][A-Z0-9]*#?)\s+=\s+(?:Connection|Path|Self|Status)\b", re.ASCII)
# A column whose label is lost.
_UNNAMED = "?"
_NIC_NAME = re.compile(r"\b(NIC[0-9]{1,4})\s*:\s*([A-Za-z0-9_.:-]+)", re.ASCII)


@frozen
class Affinity:
    """CPUs and NUMA nodes as printed ("0-31,64-95", "0,3-9"), the NUMA node of the GPU's own memory, or why not."""

    cpu: str | None = None
    numa: str | None = None
    gpu_numa_id: int | None = None
    why: str | None = None


@frozen
class Topology:
    """The table: relations by (row, column) in the tool's own words; vendor nvidia, or None (unknown)."""

    vendor: str | None
    gpus: list[str]
    nics: list[str]
    legend: dict[str, str]
    rows: list[str]
    relations: dict[tuple[str, str], str]
    affinity: dict[str, Affinity]

    def relation(self, one: str, other: str) -> str | None:
        """Return the relation of two labels: the table is symmetric, so the others have a missing row."""
        return self.relations.get((one, other)) or self.relations.get((other, one))

    def name(self, nic: str) -> str:
        """Return the RDMA device of a label; a table without a legend only has the label."""
        return self.legend.get(nic, nic)


@frozen
class _Row:
    label: str
    words: list[str]
    cells: list[str]
    rest: list[str]


def parse_topology(text: str) -> Topology:
    """Return the content of a table, however it was quoted; without a table there are no GPUs and no vendor."""
    lines = _unwrap(_ESCAPE.sub("", line).translate(_DECORATION) for line in text.splitlines())
    start, labels, fields = _find_header(lines)
    rows = _read_rows(lines[start:], labels)
    legend = {label: name for line in lines for label, name in _NIC_NAME.findall(line) if name not in PCI_RELATIONS}
    if not labels:
        labels = _labels_of(rows, legend)
    relations = _relations(rows, labels)
    gpus = [label for label in labels if _GPU.fullmatch(label)]
    gpu_rows = [row for row in rows if row.label in gpus]
    nics = [label for label in labels if label not in gpus and not label.startswith(_UNNAMED)]
    return Topology(
        vendor=_vendor(relations.values(), _LEGEND.findall("\n".join(lines))) if gpus else None,
        gpus=gpus,
        nics=nics,
        legend={label: name for label, name in legend.items() if label in nics},
        rows=[row.label for row in gpu_rows],
        relations=relations,
        affinity={row.label: _affinity(row, len(labels), fields) for row in gpu_rows},
    )


def nvlinks(word: str) -> int | None:
    """Return how many NVLinks a word names (18 for NV18), None for other words."""
    match = NVLINK.fullmatch(word)
    return int(match.group(1)) if match else None


def nic_relation(word: str | None) -> str | None:
    """Return the PCI relation that a word names: PIX, PXB, PHB, NODE or SYS."""
    return PCI_RELATIONS.get(word or "")


def _unwrap(lines: Iterable[str]) -> list[str]:
    """Join lines that a narrow terminal wrapped: a line that begins with a word of the table continues the last one.

    Not the lines of the legend, which have a "=".
    """
    joined: list[list[str]] = []
    for line in lines:
        tokens = line.split(None, 2)[:2]
        if joined and tokens and tokens[1:] != ["="] and (_is_known(tokens[0]) or tokens == ["CPU", "Affinity"]):
            joined[-1].append(line)
        else:
            joined.append([line])
    return ["\t".join(parts) for parts in joined]


# The header


def _find_header(lines: Sequence[str]) -> tuple[int, list[str], list[str]]:
    """Return where the table's rows begin, the labels of its columns and the fields after them; none without one."""
    alone: tuple[int, list[str], list[str]] = (0, [], [])
    for number, line in enumerate(lines):
        labels, fields = _parse_header(line)
        if labels:
            # A sentence may begin with GPU0 too: a header has a row below it, unless the table is truncated.
            if any(_read_row(below, labels) for below in lines[number + 1 : number + 1 + HEADER_TO_ROW]):
                return number + 1, labels, fields
            if fields and not alone[1]:
                alone = number + 1, labels, fields
    return alone


def _parse_header(line: str) -> tuple[list[str], list[str]]:
    first = _GPU.search(line)
    if first is None:
        return [], []
    # "NIC11CPU Affinity": the titles of the affinities are found wherever they begin.
    titles = list(_AFFINITY.finditer(line, first.start()))
    end = titles[0].start() if titles else len(line)
    labels = [label for token in line[first.start() : end].split() for label in _split_labels(token)]
    if not all(_LABEL.fullmatch(label) and not NVLINK.fullmatch(label) for label in labels):
        return [], []
    if not labels or not _GPU.fullmatch(labels[0]) or len(set(labels)) < len(labels):
        return [], []
    return labels, [_FIELDS[(match.group(1) or match.group(2)).lower()] for match in titles]


def _split_labels(token: str) -> list[str]:
    """Return the labels in a token of the header, which are several where a tab was lost (NIC11NIC12)."""
    labels = _GLUED.findall(token)
    return labels if "".join(labels) == token else [token]


# The rows


def _read_rows(lines: Iterable[str], labels: Sequence[str]) -> list[_Row]:
    rows: dict[str, _Row] = {}
    for line in lines:
        row = _read_row(line, labels)
        if row is not None:
            rows.setdefault(row.label, row)
        elif rows and _parse_header(line)[0]:
            break  # another table
    return list(rows.values())


def _read_row(line: str, labels: Sequence[str]) -> _Row | None:
    """Return the row in a line: the first label that a word of the table follows."""
    tokens = _WORD_AND_LIST.sub(r"\1 ", line.replace("N/A", " N/A ")).split()
    for place, token in enumerate(tokens[:-1]):
        if token in labels or (not labels and _GLUED.fullmatch(token)):
            words, used = _words(tokens[place + 1 :], len(labels))
            if not any(map(_is_known, words)):
                return None
            return _Row(token, words, [cell.strip() for cell in line.split("\t")], tokens[place + 1 + used :])
    return None


def _words(tokens: Sequence[str], count: int) -> tuple[list[str], int]:
    """Return the words at the head of a row, one for each of count columns (any number when it is 0)."""
    words: list[str] = []
    for used, token in enumerate(tokens):
        if count and len(words) >= count:
            return words[:count], used
        if _GLUED_WORDS.fullmatch(token):
            words += _ONE_WORD.findall(token)
        elif _WORD.fullmatch(token) and (count or token != "N/A"):
            words.append(token)
        else:
            return words, used
    return words, len(tokens)


def _labels_of(rows: Sequence[_Row], legend: dict[str, str]) -> list[str]:
    """Return the labels of a table without a header: each row has its X below its own label."""
    width = max((len(row.words) for row in rows), default=0)
    by_column = {row.words.index("X"): row.label for row in rows if "X" in row.words}
    nics = sorted(legend, key=lambda label: int(label[3:]))
    if len(nics) < width:
        for place, label in enumerate(nics, width - len(nics)):
            by_column.setdefault(place, label)
    # Columns without a name after the last named one are not devices.
    labels = [by_column.get(place, f"{_UNNAMED}{place}") for place in range(max(by_column, default=-1) + 1)]
    return labels if len(set(labels)) == len(labels) else []


def _relations(rows: Sequence[_Row], labels: Sequence[str]) -> dict[tuple[str, str], str]:
    relations = {}
    for row in rows:
        if row.label not in labels:
            continue
        place = labels.index(row.label)
        words = row.words
        if "X" in words and words.index("X") != place:
            continue  # a word before it is lost, so the row is uncertain
        if len(words) < len(labels) and row.rest and _is_affinity(row.rest[0]):
            words = words[: place + 1] if "X" in words else []  # a word after it is lost
        for label, word in zip(labels, words):
            if label != row.label and not label.startswith(_UNNAMED) and word not in ("X", "N/A", "ERR!"):
                relations[row.label, label] = word
    return relations


# The affinities


def _is_affinity(token: str) -> bool:
    return token == "N/A" or bool(_CPU_LIST.fullmatch(token))


def _affinity(row: _Row, count: int, fields: Sequence[str]) -> Affinity:
    """Return the affinities of a row of count words, whose titles are the fields."""
    if not fields:
        return Affinity(why="no titles")
    values = _values(row, count, fields)
    if not any(value not in ("", "N/A") for value in row.rest):
        return Affinity(why="missing")
    if len(row.words) < count or len(values) != len(fields):
        return Affinity(why="ambiguous: columns glued or missing")
    texts = {field: value for field, value in zip(fields, values) if value not in ("", "N/A")}
    if not all(map(_CPU_LIST.fullmatch, texts.values())):
        return Affinity(why="not a list of CPUs and NUMA nodes")
    number = texts.get("gpu_numa_id", "")
    return Affinity(texts.get("cpu"), texts.get("numa"), int(number) if re.fullmatch("[0-9]{1,9}", number) else None)


def _values(row: _Row, count: int, fields: Sequence[str]) -> list[str]:
    """Return one value for each field if that is certain; text after the table's line is a remark."""
    values = row.rest
    if len(values) > len(fields) and not _is_affinity(values[len(fields)]):
        return values[: len(fields)]
    if len(values) < len(fields) and row.label in row.cells:
        # A row that has its tabs has its blank cells; nvidia-smi prints two tabs before GPU NUMA ID.
        cells = row.cells[row.cells.index(row.label) + 1 + count :]
        if "gpu_numa_id" in fields:
            cells = cells[:-2] + cells[-1:] if len(cells) > 1 and not cells[-2] else []
        if len(cells) == len(fields) and "".join(cells) == "".join(values):
            return cells
    return values


# The vendor


def _vendor(words: Iterable[str], legend: Iterable[str]) -> str | None:
    """Return nvidia if all words are NVIDIA's; unknown words are accepted if the legend explains NV#."""
    explained = set(legend)
    foreign = {word for word in [*words, *explained - {"NV#"}] if not _is_known(word)}
    return None if foreign and "NV#" not in explained else "nvidia"


def _is_known(word: str) -> bool:
    return word == "X" or word in PCI_RELATIONS or word in P2P_WORDS or bool(NVLINK.fullmatch(word))
