# SPDX-License-Identifier: GPL-3.0-or-later
"""`gpus`: every GPU of the cluster, how busy it is, and whose processes use it."""

from __future__ import annotations

from typing import Any

from .._cluster.node import Node, Silent
from .._cluster.silence import why_silent
from .._detect.gpus_in_use import gpus_of
from .._detect.gpus_text import lines_of
from .._findings.finding import PlanError
from .answers import read_node_answers
from .find import launch_policy
from .step import Conclude, Conclusion, Play, ask

FACTS = "launch__gpus"
SUBSET = ("gpu", "gpu_health", "gpu_processes")


@ask("node_facts")
def gather(play: Play, _host: str) -> dict[str, Any]:
    """Ask a node for its GPUs, how they are, and the processes on them."""
    policy = launch_policy(play, ("launch_workdir", "launch_code_dir"))
    return {**{name.removeprefix("launch_"): value for name, value in policy.items()}, "subset": list(SUBSET)}


@Conclude
def report(play: Play) -> Conclusion:
    """Show the GPUs; a node that did not answer fails the verb."""
    answers = read_node_answers(play, FACTS)
    nodes = [answer for answer in answers if isinstance(answer, Node)]
    silent = [why_silent(answer) for answer in answers if isinstance(answer, Silent)]
    return Conclusion(
        lines=["", *lines_of(nodes, play.width, play.parameters["all"])] if nodes else (),
        document={"nodes": [_document(answer) for answer in answers], "errors": []},
        failure=PlanError(silent) if silent else None,
    )


def _document(answer: Node | Silent) -> dict[str, Any]:
    gpus = gpus_of(answer) if isinstance(answer, Node) else None
    return {
        "node": answer.name,
        "answered": isinstance(answer, Node),
        "gpus": None if gpus is None else [gpu.to_dict() for gpu in gpus],
    }
