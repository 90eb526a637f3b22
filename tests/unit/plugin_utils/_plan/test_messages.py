# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan says in every case that its tests have: tests/screens/messages/plan.txt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import lines
from ansible_collections.muster.train.plugins.plugin_utils._plan.ranks import count
from ansible_collections.muster.train.plugins.plugin_utils._plan.text import header, render
from ansible_collections.muster.train.tests.support.plans import NVIDIA, plan_of, variables
from ansible_collections.muster.train.tests.support.rdma_parts import hca
from ansible_collections.muster.train.tests.support.screens import Message, kept, page_of, refusal
from ansible_collections.muster.train.tests.unit.plugin_utils._plan import (
    test_benchmark,
    test_placeholders,
    test_plan_layers,
    test_plan_refused,
    test_profiling,
    test_programs,
    test_slurm_step,
    test_spares,
    test_text,
)
from ansible_collections.muster.train.tests.unit.plugin_utils._plan.runtimes import test_runtimes

CASES = {
    "refused": test_plan_refused.CASES,
    "environment": test_plan_layers.CASES,
    "placeholder": test_placeholders.CASES,
    "program": test_programs.CASES,
    "profiler": test_profiling.CASES,
    "container": test_runtimes.CASES,
}
RANKS: dict[str, tuple[int | None, dict[str, int | None]]] = {
    "as many as are given": (2, {"a": 0, "b": None, "c": 8}),
    "one for each GPU": (None, {"a": 8, "b": 8}),
    "no GPUs": (None, {"a": 0, "b": 0}),
    "more than GPUs": (8, {"a": 8, "b": 7}),
    "a node with another number of GPUs": (None, {"a": 8, "b": 7, "c": 8}),
    "unread GPUs": (None, {"a": 8, "b": None}),
}
# Of the other plans, commands and environments are left out: they are the same.
IN_FULL = ("one node", "nodes that do the same share a section", "variables that are not set")


def outline(plan: dict[str, Any]) -> list[str]:
    """A plan as people read it, without commands and environments."""
    return [line for line in render(plan).splitlines() if not line.startswith("    ")]


def messages() -> Iterator[Message]:
    for subject, cases in CASES.items():
        yield from ((f"{subject}: {case.name}", lines(case.find())) for case in cases)
    for number, (parameters, of_nodes, _checks) in enumerate(test_benchmark.REFUSED, start=1):
        yield f"benchmark: refused {number}", lines(test_benchmark.stopping(parameters, of_nodes))
    yield "refused: a Slurm node twice", [refusal(test_slurm_step.doubled)]
    for end in test_slurm_step.ENDS:
        yield f"refused: an allocation until {end}", lines(test_slurm_step.without_time(end))
    yield "refused: everything at once", lines(test_plan_refused.everything())
    for name, (nproc, gpus) in RANKS.items():
        decided, findings = count(nproc, "-e nproc" if nproc else "default", gpus)
        yield f"ranks: {name}", [f"{decided.nproc}  # {decided.reason}", *lines(findings)]
    yield "spares: one takes the place of a node", lines(test_spares.planned(3, 1, bad=(1,))[1])
    yield "spares: some are refused, too", lines(test_spares.planned(2, 3, bad=(1, 2), away=(3,), max_restarts=1)[1])
    yield "variables: of layers", variables(test_plan_layers.layered(), "NCCL_SOCKET_IFNAME", "A", "B", "C")
    yield "variables: of trackers", variables(plan_of(env={"WANDB_NAME": "{run_id} a"}), "WANDB_NAME", "WANDB_DIR")
    yield "variables: of the launcher python", variables(plan_of(launcher="python", nproc=1), "RANK")
    yield "head: one node without a route", header(plan_of(1, facts={"net__routes": [], "gpu": NVIDIA}))
    yield "head: RDMA", header(plan_of(3, facts={"gpu": NVIDIA, "hcas": [hca("mlx5_0")]}, threads=512))
    yield "head: mode tcp", header(plan_of(mode="tcp", facts={"hcas": [hca("mlx5_0")]}))
    for name, plan in test_text.PLANS.items():
        yield f"text: {name}", render(plan).splitlines() if name in IN_FULL else outline(plan)
    yield "text: a container", outline(test_runtimes.plan())
    mounted = test_runtimes.plan(gpu=test_runtimes.with_topology("/etc/nccl.conf"))
    yield "text: a container with the topology file", outline(mounted)


def test_what_a_plan_says() -> None:
    text = page_of(messages())
    assert text == kept("messages/plan.txt", text)
