# SPDX-License-Identifier: GPL-3.0-or-later
"""What was detected, as a page: the verdict, the problems, how nodes differ, and what they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.gpu import RELATIONS, Gpu
from ansible_collections.muster.train.plugins.module_utils._text.order import natural

from .._page.page import Header, Headline, count
from .._page.page import render as render_page
from .._page.problems import Nodes, problems
from .._page.tables import Cell, PageTable
from .._text.table import node_names
from . import links, rows
from .detected import ClusterReport, DetectedNode
from .drawing import NARROW, WIDE, draw
from .groups import Alike, groups
from .topology import Socket, sockets

LEGEND = (
    "Boxes are NUMA nodes. GPUs are green, NICs that a job would use are blue, other NICs are gray; under each NIC is "
    "its link. PIX: at most one PCI bridge between them. PXB: several, but not the CPU. Without a line the path leads "
    "through the CPU: PHB through one PCI host bridge, NODE inside a NUMA node, SYS between NUMA nodes."
)


def render(report: ClusterReport) -> str:
    """Return the page, which takes seconds for a thousand nodes."""
    answered = [node for node in report.nodes if node.answered]
    alike = groups(report.nodes)
    others = alike[1:]
    content = {
        "problems": problems(report.all_findings),
        "usual": Nodes.of(alike[0].nodes) if others else None,
        "differences": [differences_table(group, alike[0]) for group in others],
        "kinds": _kinds(answered),
    }
    return render_page("detect.html.j2", _header(report, answered, others), content)


def _header(report: ClusterReport, answered: Sequence[DetectedNode], others: Sequence[Alike]) -> Header:
    gpus = sum(node.gpu.count for node in answered if node.gpu)
    hcas = sum(len(node.rdma.hcas) for node in answered if node.rdma)
    figures = [("nodes that answered", f"{len(answered)} of {len(report.nodes)}"), ("GPUs", str(gpus))]
    figures += [("RDMA devices", str(hcas)), ("fabric", report.fabric.value if report.fabric else "none")]
    return Header(f"Topology of {count(len(report.nodes), 'node')}", _verdict(report, answered, others), figures)


def _verdict(report: ClusterReport, answered: Sequence[DetectedNode], others: Sequence[Alike]) -> Headline:
    listed = problems(report.all_findings)
    stopping = [problem for problem in listed if problem.status != "warn"]
    notes = []
    if silent := [node.name for node in report.nodes if not node.answered]:
        notes.append(f"{node_names(silent)} did not answer.")
    odd = [node for group in others for node in group.nodes]
    if odd:
        notes.append(f"{node_names(odd)} {'differs' if len(odd) == 1 else 'differ'} from the other nodes.")
    elif len(answered) > 1:
        notes.append("All nodes that answered are alike." if silent else "All nodes are alike.")
    if report.fabric:
        notes.append(f"Fabric {report.fabric.value}: {report.fabric.reason}.")
    if stopping:
        return Headline(stopping[0].status, f"A launch would be refused: {count(len(stopping), 'problem')}", notes)
    if listed:
        return Headline("warn", f"A launch is possible, with {count(len(listed), 'warning')}", notes)
    return Headline("pass", "Nothing was found wrong", notes)


def differences_table(group: Alike, usual: Alike) -> PageTable:
    """Return all differences of a group from the usual one."""
    body = [(", ".join(item.features), item.value, item.usual) for item in group.differences]
    verb = "differs" if len(group.nodes) == 1 else "differ"
    caption = f"{node_names(group.nodes)} {verb} in {count(len(body), 'point')}"
    others = f" and {len(usual.nodes) - 1} more" if len(usual.nodes) > 1 else ""
    here = group.nodes[0] if len(group.nodes) == 1 else "these nodes"
    return PageTable.of(caption, ("property", here, f"{usual.nodes[0]}{others}"), body, wrapped=True)


def _kinds(nodes: Iterable[DetectedNode]) -> list[dict[str, Any]]:
    """Group the nodes by picture: nodes with the same one are one kind."""
    kinds: dict[tuple[Any, ...], list[DetectedNode]] = {}
    for node in nodes:
        kinds.setdefault(_shape(node), []).append(node)
    return [_kind(alike) for alike in kinds.values()]


def _shape(node: DetectedNode) -> tuple[Any, ...]:
    """Return what the picture and the matrices show. GPUs' serial numbers are only in tooltips."""
    cells = tuple((table.caption, *table.headers, *map(tuple, table.rows)) for table in _matrices(node))
    picture = draw(_sockets(node), _direct_links(node.gpu), WIDE)
    return (rows.gpu_summary(node.gpu), rows.hca_summary(node), _visible(picture.shapes), cells)


def _visible(shapes: Iterable[Any]) -> tuple[str, ...]:
    return tuple(f"{shape.x},{shape.y},{shape.text}" for shape in shapes if hasattr(shape, "text"))


def _sockets(node: DetectedNode) -> list[Socket]:
    return sockets(node.rdma, node.gpu, node.hcas)


def _direct_links(gpu: Gpu | None) -> str:
    """Return the label of the strip, if every pair of GPUs has a direct link."""
    return links.kind(gpu.links) if gpu and links.all_to_all(gpu) else ""


def _kind(alike: Sequence[DetectedNode]) -> dict[str, Any]:
    node = alike[0]
    laid_out, direct_links = _sockets(node), _direct_links(node.gpu)
    facts = [("GPUs", rows.gpu_summary(node.gpu)), ("GPU links", rows.link_summary(node.gpu))]
    facts += [("RDMA devices", rows.hca_summary(node)), ("library", rows.library_summary(node.library))]
    if node.rdma and node.rdma.hcas:
        facts.append(("GPUDirect RDMA", rows.gdr_summary(node.rdma.gdr)))
    named = Nodes.of([node.name for node in alike])
    return {
        "title": f"{named.text} ({len(alike)} nodes with the same topology)" if len(alike) > 1 else named.text,
        "names": named,
        "label": f"Topology: {rows.gpu_summary(node.gpu)}; RDMA devices: {rows.hca_summary(node)}",
        "facts": [(name, text) for name, text in facts if text],
        "wide": draw(laid_out, direct_links, WIDE) if laid_out else None,
        "narrow": draw(laid_out, direct_links, NARROW) if laid_out else None,
        "legend": LEGEND,
        "matrices": _matrices(node),
        "nodes": [_node(node) for node in alike],
    }


def _node(node: DetectedNode) -> dict[str, Any]:
    tables = [("GPUs", rows.GPU_HEADERS, rows.gpu_rows(node.gpu)), ("Ports", rows.PORT_HEADERS, rows.port_rows(node))]
    towards = f", {node.interface.name} towards the head" if node.interface else ""
    return {
        "title": f"{node.name}{towards}",
        "tables": [PageTable.of(f"{what} of {node.name}", headers, body) for what, headers, body in tables if body],
        "environment": rows.environment_lines(node.environment),
        "not_set": rows.not_set_lines(node),
    }


def _matrices(node: DetectedNode) -> list[PageTable]:
    """Return the matrices GPU by NIC and GPU by GPU, as the tools print them, if they have any cell."""
    gpu = node.gpu
    if gpu is None or not gpu.devices:
        return []
    indexes = [device.index for device in gpu.devices]
    matrices = []
    nics = sorted({link.nic for link in gpu.nic_links}, key=natural)
    if nics:
        to_nic = {(link.gpu, link.nic): link.relation for link in gpu.nic_links}
        cells = [[Cell(f"GPU {index}"), *(_cell(to_nic.get((index, nic), "")) for nic in nics)] for index in indexes]
        matrices.append(PageTable("PCI relation of each GPU and NIC", ["", *nics], cells, "matrix"))
    if gpu.links:
        between = {pair: links.word(link) for link in gpu.links for pair in ((link.a, link.b), (link.b, link.a))}
        between.update({(index, index): "X" for index in indexes})
        cells = [[Cell(f"GPU {a}"), *(_cell(between.get((a, b), "")) for b in indexes)] for a in indexes]
        columns = [f"GPU {index}" for index in indexes]
        matrices.append(PageTable("Link between GPUs", ["", *columns], cells, "matrix"))
    return matrices


def _cell(text: str) -> Cell:
    return Cell(text, text if text in RELATIONS else "own" if text and links.is_direct(text) else "")
