# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's shape as a picture: boxes, lines and texts with their places.

Lengths are CSS pixels. A shape has a class, and the page chooses its colors. Texts are data; nothing here is markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .._page.width import text_width
from .topology import Chip, Group, Nic, PciCluster, Socket

WIDE, NARROW = 1228, 368

CELL, GAP, INSET = 108, 8, 12  # width of a device, gap between two, margin between a socket's frame and its content
TITLE, STRIP, STRIP_AT = 24, 28, 11  # heights of a socket's title and of the strip of direct GPU links; its middle
BOX, LANES, WIRE = 58, 46, 46  # heights of a device, of the space between GPUs and NICs, of a NIC's link
LINE, FIRST = 16, 18  # distance between lines in a box, and of the first baseline from its top
SIZES = {"name": 13.5, "small": 11}  # font sizes; names are bold, and so wider than their size
ROOM = CELL - 2  # width for text in a box


@frozen
class Box:
    """A rectangle; `title` is its tooltip, and its text for a screen reader."""

    x: float
    y: float
    width: float
    height: float
    style: str
    title: str = ""


@frozen
class Wire:
    """A straight line."""

    x1: float
    y1: float
    x2: float
    y2: float
    style: str


@frozen
class Text:
    """One line of text, `anchor` as in SVG."""

    x: float
    y: float
    text: str
    style: str = ""
    anchor: str = "middle"


Shape = Box | Wire | Text


@frozen
class Picture:
    """Shapes in the order in which they are painted."""

    width: float
    height: float
    shapes: tuple[Shape, ...]


@frozen
class Heights:
    """Heights of the parts of a row; a part that is missing, such as GPUs, has none."""

    strip: int
    chips: int
    lanes: int
    nics: int

    @property
    def total(self) -> int:
        return self.strip + self.chips + self.lanes + self.nics


def draw(sockets: Sequence[Socket], direct_links: str, width: float) -> Picture:
    """Draw a node at most `width` wide, if no group alone is wider; direct_links: the links that join all GPUs."""
    columns = max(1, int((width - 2 * INSET + GAP) // (CELL + GAP)))
    shapes: list[Shape] = []
    x = y = row_height = right = 0.0
    strips: list[tuple[float, float, float]] = []  # left, right, y
    for socket in sockets:
        rows = _rows(socket.groups, columns)
        size = _width(max(sum(group.columns for group in row) for row in rows))
        heights = [_heights(row, direct_links) for row in rows]
        height = TITLE + sum(row.total + INSET for row in heights)
        if x and x + size > width:
            x, y, row_height = 0.0, y + row_height + GAP * 2, 0.0
        shapes.append(Box(x, y, size, height, "socket"))
        shapes.append(Text(x + INSET, y + 17, _name(socket), "heading", "start"))
        top = y + TITLE
        for row, parts in zip(rows, heights, strict=True):
            drawn = _row(row, x + INSET, top, parts)
            if parts.strip:
                last = max(shape.x1 for shape in drawn if isinstance(shape, Wire) and shape.style == "own")
                strips.append((x + INSET / 2, last, top + STRIP_AT))
            shapes += drawn
            top += parts.total + INSET
        x, row_height, right = x + size + GAP * 2, max(row_height, height), max(right, x + size)
    shapes += _strips(strips, direct_links)
    return Picture(right, y + row_height, tuple(shapes))


def _heights(groups: Iterable[Group], direct_links: str) -> Heights:
    clusters = [cluster for group in groups for cluster in group.clusters]
    chips, nics = any(cluster.chips for cluster in clusters), any(cluster.nics for cluster in clusters)
    return Heights(
        strip=STRIP if direct_links and chips else 0,
        chips=BOX if chips else 0,
        lanes=LANES if chips and nics else 0,
        nics=BOX + WIRE if nics else 0,
    )


def _rows(groups: Sequence[Group], columns: int) -> list[list[Group]]:
    """Arrange the groups of a socket in as few rows as fit, of widths as equal as possible; no group is split."""
    fewest = len(_broken(groups, columns))
    narrowest = max((group.columns for group in groups), default=1)
    return next(
        (rows for limit in range(narrowest, columns) if len(rows := _broken(groups, limit)) == fewest),
        _broken(groups, columns),
    )


def _broken(groups: Sequence[Group], columns: int) -> list[list[Group]]:
    rows: list[list[Group]] = [[]]
    for group in groups:
        if rows[-1] and sum(other.columns for other in rows[-1]) + group.columns > columns:
            rows.append([])
        rows[-1].append(group)
    return rows


def _width(columns: int) -> float:
    return columns * (CELL + GAP) - GAP + 2 * INSET


def _name(socket: Socket) -> str:
    return "NUMA unknown" if socket.numa is None else f"NUMA node {socket.numa}"


def _row(groups: Iterable[Group], x: float, y: float, heights: Heights) -> list[Shape]:
    shapes: list[Shape] = []
    for group in groups:
        shapes += _group(group, x, y, heights)
        x += group.columns * (CELL + GAP)
    return shapes


def _group(group: Group, x: float, y: float, heights: Heights) -> list[Shape]:
    """Draw the devices, and between near ones a bus: PIX inside a cluster, PXB between clusters."""
    chips_y, lanes_y = y + heights.strip, y + heights.strip + heights.chips
    nics_y = lanes_y + heights.lanes
    wires: list[Shape] = []
    boxes: list[Shape] = []
    ends: list[float] = []
    for cluster in group.clusters:
        upper, lower = _places(cluster, x, len(cluster.chips)), _places(cluster, x, len(cluster.nics))
        alone = len(upper) + len(lower) == 1
        inner = group.relation if len(group.clusters) == 1 else "" if alone else "PIX"
        outer = bool(group.relation) and len(group.clusters) > 1
        # Two lanes: the PIX bus is in the upper one, the PXB trunk in the lower one.
        bus = lanes_y + (13 if outer else heights.lanes / 2)
        trunk = lanes_y + 35
        for chip, place in zip(cluster.chips, upper, strict=True):
            boxes += _chip(chip, place, chips_y)
            if heights.strip:
                wires.append(Wire(place, y + STRIP_AT, place, chips_y, "own"))
            if group.relation:
                wires.append(Wire(place, chips_y + BOX, place, bus if inner else trunk, f"near {inner or 'PXB'}"))
        for nic, place in zip(cluster.nics, lower, strict=True):
            boxes += _nic(nic, place, nics_y)
            if group.relation:
                wires.append(Wire(place, bus if inner else trunk, place, nics_y, f"near {inner or 'PXB'}"))
        if inner and heights.lanes:
            places = [*upper, *lower]
            wires.append(Wire(min(places), bus, max(places), bus, f"near {inner}"))
            boxes += _pill(x + _half(cluster), bus, inner)
        if outer:
            # Next to the cluster's PIX wires, on the side of the other clusters.
            aside = -CELL / 4 if cluster is group.clusters[-1] else CELL / 4
            middle = x + _half(cluster) + (aside if inner else 0)
            if inner:
                wires.append(Wire(x + _half(cluster), bus, middle, bus, "near PIX"))
                wires.append(Wire(middle, bus, middle, trunk, "near PXB"))
            ends.append(middle)
        x += cluster.columns * (CELL + GAP)
    if len(ends) > 1 and heights.lanes:
        trunk = lanes_y + 35
        wires.append(Wire(min(ends), trunk, max(ends), trunk, "near PXB"))
        boxes += _pill((min(ends) + max(ends)) / 2, trunk, "PXB")
    return [*wires, *boxes]


def _half(cluster: PciCluster) -> float:
    return (cluster.columns * (CELL + GAP) - GAP) / 2


def _places(cluster: PciCluster, x: float, count: int) -> list[float]:
    """Return the centers of `count` devices of a cluster, spread over its width."""
    step = (cluster.columns * (CELL + GAP)) / count if count else 0
    return [x - GAP / 2 + step * (number + 0.5) for number in range(count)]


def _pill(x: float, y: float, text: str) -> list[Shape]:
    return [Box(x - 16, y - 9, 32, 18, f"pill {text}"), Text(x, y + 4, text, "small")]


def _chip(chip: Chip, x: float, y: float) -> list[Shape]:
    lines = [chip.label, chip.name, chip.memory]
    title = [*lines[:2], chip.memory, *_details(chip), chip.nearest and f"nearest NIC: {chip.nearest}"]
    return _device(x, y, "gpu", lines, title, end=0)


def _details(chip: Chip) -> list[str]:
    device = chip.devices[0]
    return [f"PCI {device.pci_address}" if device.pci_address else "", device.uuid or ""]


def _nic(nic: Nic, x: float, y: float) -> list[Shape]:
    states = {"used": "used", "usable": "not used", "unusable": "not usable"}
    lines = [nic.name, nic.detail, states[nic.state]]
    title = [*lines, f"{nic.speed} {nic.layer}", nic.relation and f"{nic.relation} to the nearest GPU", nic.why]
    link = "up" if nic.up else "down"
    foot = y + BOX
    return [
        Wire(x, foot, x, foot + 14, f"link {link}"),
        Text(x, foot + 27, shortened(nic.speed, SIZES["small"], 0), f"small {link}"),
        Text(x, foot + 40, shortened(nic.layer, SIZES["small"], 0), f"small {link}"),
        *_device(x, y, f"nic {nic.state}", lines, title),
    ]


def _device(x: float, y: float, style: str, lines: Sequence[str], title: Iterable[str], end: int = 5) -> list[Shape]:
    shown = [(line, "small" if number else "name") for number, line in enumerate(lines) if line]
    first = y + FIRST + LINE * (len(lines) - len(shown)) / 2
    return [
        Box(x - CELL / 2, y, CELL, BOX, f"device {style}", "\n".join(part for part in title if part)),
        *(
            Text(x, first + LINE * row, shortened(line, SIZES[part], end), part)
            for row, (line, part) in enumerate(shown)
        ),
    ]


def shortened(text: str, size: float, end: int) -> str:
    """Shorten a text so that it fits into a box, keeping its last `end` characters: rocep139…f1np1."""
    if text_width(text, size) <= ROOM:
        return text
    last = text[len(text) - end :]
    kept = next((n for n in range(len(text) - end, 0, -1) if text_width(f"{text[:n]}…{last}", size) <= ROOM), 0)
    return f"{text[:kept]}…{last}"


def _strips(strips: Sequence[tuple[float, float, float]], direct_links: str) -> list[Shape]:
    """Draw the strip that joins all GPUs: through all sockets of a row, and between rows at their left ends.

    Its label is at its left end, before the first GPU, and covers no part of it.
    """
    shapes: list[Shape] = []
    ends: dict[float, tuple[float, float]] = {}
    for left, right, y in strips:
        first, last = ends.get(y, (left, right))
        ends[y] = min(first, left), max(last, right)
    if not ends:
        return []
    left, top = min(left for left, _right in ends.values()), min(ends)
    wide = text_width(direct_links, SIZES["small"]) + 8
    for y, (start, end) in ends.items():
        shapes.append(Wire(left - 3 + wide if y == top else start, y, end, y, "strip"))
    if len(ends) > 1:
        shapes.append(Wire(left, top + 9, left, max(ends), "strip"))
    label = Text(left - 3 + wide / 2, top + 4, direct_links, "small")
    return [*shapes, Box(left - 3, top - 9, wide, 18, "pill own"), label]
