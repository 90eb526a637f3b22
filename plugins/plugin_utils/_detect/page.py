# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was detected, as a self-contained page of HTML.

The template has no logic except loops; this module prepares what it shows. Jinja2 escapes every value: names and
reasons from hosts are data and never markup.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

import jinja2

from ansible_collections.muster.train.plugins.module_utils._records.gpu import RELATIONS, Gpu
from ansible_collections.muster.train.plugins.module_utils._text.order import natural

from .._findings.finding import Finding
from .._text.table import names
from . import links, rows
from .detected import ClusterReport, DetectedNode
from .drawing import NARROW, WIDE, draw
from .groups import groups
from .text import BAD, difference_lines, group_title
from .topology import Socket, sockets

LEGEND = (
    "Boxes are NUMA nodes. GPUs are green, NICs that a job would use are blue, other NICs are gray; under each NIC is "
    "its link. PIX: at most one PCI bridge between them. PXB: several, but not the CPU. Without a line the path leads "
    "through the CPU: PHB through one PCI host bridge, NODE inside a NUMA node, SYS between NUMA nodes."
)

SUBTITLE = '<p class="soft">{}</p>'  # as in the template


def render(template: str, report: ClusterReport, subtitle: str) -> str:
    """Fill the template; subtitle says when and by which command."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=False)
    return environment.from_string(template).render(page=_page(report, subtitle)) + "\n"


def subtitled(page: str, subtitle: str) -> str:
    """Put a subtitle into a page that was rendered without one, which takes seconds for a thousand nodes."""
    return page.replace(SUBTITLE.format(""), SUBTITLE.format(html.escape(subtitle)), 1)


def _page(report: ClusterReport, subtitle: str) -> dict[str, Any]:
    answered = [node for node in report.nodes if node.answered]
    gpus = sum(node.gpu.count for node in answered if node.gpu)
    hcas = sum(len(node.rdma.hcas) for node in answered if node.rdma)
    return {
        "title": f"Topology of {_count(len(report.nodes), 'node')}",
        "subtitle": subtitle,
        "fabric": report.fabric,
        "cluster": f"{_count(len(answered), 'node')}, {_count(gpus, 'GPU')}, {_count(hcas, 'RDMA device')}",
        "groups": [
            {"title": group_title(group), "differences": difference_lines(group)} for group in groups(report.nodes)
        ],
        "silent": [node for node in report.nodes if not node.answered],
        "findings": _findings(report.all_findings),
        "kinds": _kinds(answered),
    }


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _findings(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Return the problems, the worst first; findings that are the same on several nodes are one that names them."""
    groups: dict[tuple[str, str], list[str]] = {}
    bad = [finding for finding in findings if finding.status in BAD]
    for finding in sorted(bad, key=lambda finding: BAD.index(finding.status)):
        groups.setdefault((finding.status, rows.finding_line(finding)), []).append(finding.node or "")
    return [
        {"status": status, "nodes": names([node for node in where if node]), "text": text}
        for (status, text), where in groups.items()
    ]


def _kinds(nodes: Iterable[DetectedNode]) -> list[dict[str, Any]]:
    """Group the nodes by picture: nodes with the same one are one kind."""
    kinds: dict[tuple[Any, ...], list[DetectedNode]] = {}
    for node in nodes:
        kinds.setdefault(_shape(node), []).append(node)
    return [_kind(alike) for alike in kinds.values()]


def _shape(node: DetectedNode) -> tuple[Any, ...]:
    """Return what the picture and the matrices show. GPUs' serial numbers are only in tooltips."""
    matrices = _matrices(node)
    cells = tuple((data["caption"], *data["columns"], *map(str, data["rows"])) for data in matrices)
    picture = draw(_sockets(node), _direct_links(node.gpu), WIDE)
    return (rows.gpu_summary(node.gpu), rows.hca_summary(node), _visible(picture.shapes), cells)


def _visible(shapes: Iterable[Any]) -> tuple[str, ...]:
    return tuple(f"{shape.x},{shape.y},{shape.text}" for shape in shapes if hasattr(shape, "text"))


def _sockets(node: DetectedNode) -> list[Socket]:
    return sockets(node.rdma, node.gpu, node.hcas)


def _direct_links(gpu: Gpu | None) -> str:
    """Return the label of the strip, if every pair of GPUs has a direct link."""
    return f"{links.kind(gpu.links)}: {links.summary(gpu)}" if gpu and links.all_to_all(gpu) else ""


def _kind(alike: Sequence[DetectedNode]) -> dict[str, Any]:
    node = alike[0]
    laid_out, direct_links = _sockets(node), _direct_links(node.gpu)
    facts = [("GPUs", rows.gpu_summary(node.gpu)), ("GPU links", rows.link_summary(node.gpu))]
    facts += [("RDMA devices", rows.hca_summary(node)), ("library", rows.library_summary(node.library))]
    if node.rdma and node.rdma.hcas:
        facts.append(("GPUDirect RDMA", rows.gdr_summary(node.rdma.gdr)))
    title = names([node.name for node in alike])
    return {
        "title": f"{title} ({len(alike)} nodes with the same topology)" if len(alike) > 1 else title,
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
        "tables": [
            {"caption": f"{what} of {node.name}", "headers": headers, "rows": body}
            for what, headers, body in tables
            if body
        ],
        "environment": rows.environment_lines(node.environment),
        "not_set": rows.not_set_lines(node),
    }


def _matrices(node: DetectedNode) -> list[dict[str, Any]]:
    """Return the matrices GPU by NIC and GPU by GPU, as the tools print them, if they have any cell."""
    gpu = node.gpu
    if gpu is None or not gpu.devices:
        return []
    indexes = [device.index for device in gpu.devices]
    to_nic = {(link.gpu, link.nic): link.relation for link in gpu.nic_links}
    between = {pair: links.word(link) for link in gpu.links for pair in ((link.a, link.b), (link.b, link.a))}
    between.update({(index, index): "X" for index in indexes})
    matrices = []
    nics = sorted({link.nic for link in gpu.nic_links}, key=natural)
    if nics:
        cells = [(f"GPU {index}", [_cell(to_nic.get((index, nic), "")) for nic in nics]) for index in indexes]
        matrices.append({"caption": "PCI relation of each GPU and NIC", "columns": nics, "rows": cells})
    if gpu.links:
        cells = [(f"GPU {a}", [_cell(between.get((a, b), "")) for b in indexes]) for a in indexes]
        columns = [f"GPU {index}" for index in indexes]
        matrices.append({"caption": "Link between GPUs", "columns": columns, "rows": cells})
    return matrices


def _cell(text: str) -> dict[str, str]:
    style = text if text in RELATIONS else "own" if text and links.is_direct(text) else ""
    return {"text": text, "style": style}
