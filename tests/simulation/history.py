# SPDX-License-Identifier: GPL-3.0-or-later
"""One history: a scenario, carried out to its end."""

from __future__ import annotations

import functools
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils._records.gang import LOST
from ansible_collections.muster.train.plugins.module_utils._records.job import GangSettings
from ansible_collections.muster.train.plugins.module_utils.runner.gang.head import Head
from ansible_collections.muster.train.tests.support.jobs import make_job

from .network import Network
from .node import Node
from .scenario import NEVER, Fault, Scenario
from .world import World

JOIN_TIMEOUT_S = 90
STOP_GRACE_S = 3.0
# Before the start: a runner that is late, the wait for the last node, and for the head.
BEFORE_S = 120.0 + JOIN_TIMEOUT_S + 60.0
# Of one attempt, beside what depends on the policy: its ranks, processes that are left, the goodbye.
ATTEMPT_S = 40.0 + 10.0 + 12.0


class History:
    """A gang in its world; after `run`, the nodes have what became of them."""

    def __init__(self, scenario: Scenario, is_traced: bool = False) -> None:
        self.scenario = scenario
        self.world = World(scenario.seed, is_traced)
        self.network = Network(self.world, scenario.latency)
        self.network.on_line = self._note_line
        self.nodes: list[Node] = []
        self.living: list[Node] = []  # those that have not ended in time
        self.losses: dict[int, float] = {}  # by node: when the head gave it up
        self._met: set[Fault] = set()
        self._aimed = [fault for fault in scenario.faults if fault.moment]
        names = [f"n{number}" for number in range(scenario.nnodes + scenario.spares)]
        for number, name in enumerate(names):
            job = make_job(
                Path("/nonexistent"),
                ["train"],
                node=name,
                node_rank=number,
                first_rank=number,
                nnodes=scenario.nnodes,
                world_size=scenario.nnodes,
                gang=GangSettings(1, scenario.lost_after, scenario.restarts, [] if number else names),
                join_timeout=JOIN_TIMEOUT_S,
                disk_wait=scenario.disk_wait,
                abort_grace=scenario.abort_grace,
            )
            self.nodes.append(Node(self.world, self.network, job, scenario, self.nodes))
        self.nodes[0].on_turn = self._note_losses

    @property
    def limit_s(self) -> float:
        """How long the history may take."""
        scenario = self.scenario
        fault_s = sum(fault.at + (fault.seconds if fault.seconds != NEVER else 0.0) for fault in scenario.faults)
        loss_s = 2 * scenario.lost_after + 2 * scenario.abort_grace + scenario.disk_wait
        return BEFORE_S + fault_s + (scenario.restarts + 1) * (ATTEMPT_S + loss_s)

    def run(self) -> History:
        for node, start in zip(self.nodes, self.scenario.starts, strict=True):
            if start != NEVER:
                self.world.at(start, node.start)
        for fault in self.scenario.faults:
            if not fault.moment:
                self.world.at(fault.at, functools.partial(self._meet, fault))
        if not self.world.run(self._all_over, self.limit_s):
            self.living = [node for node in self.nodes if not self._is_over(node)]
        for node in self.nodes:
            if node.task is not None and not node.task.is_over:
                node.task.kill()
        return self

    def _all_over(self) -> bool:
        return self.world.now >= self._last_start and all(map(self._is_over, self.nodes))

    @functools.cached_property
    def _last_start(self) -> float:
        return max((start for start in self.scenario.starts if start != NEVER), default=0.0)

    def _is_over(self, node: Node) -> bool:
        return node.is_over or self.scenario.starts[node.number] == NEVER

    def _note_losses(self) -> None:
        head = self.nodes[0].gang
        for number, node in enumerate(head.coordinator.nodes if isinstance(head, Head) else ()):
            if node.state == LOST and number not in self.losses:
                self.losses[number] = self.world.now
                self.world.trace(f"n0 has given up n{number}")

    def _note_line(self, kind: str, source: int, target: int) -> None:
        for fault in self._aimed:
            if fault.moment == kind and fault.node in (source, target) and fault not in self._met:
                self._met.add(fault)
                self.world.after(fault.at, functools.partial(self._meet, fault))

    def _meet(self, fault: Fault) -> None:
        self._met.add(fault)
        self.world.trace(str(fault))
        node, after = self.nodes[fault.node], functools.partial(self.world.after, fault.seconds)
        lasts = fault.seconds != NEVER
        if fault.kind == "kill":
            node.kill()
        elif fault.kind == "crash":
            node.crash()
        elif fault.kind == "freeze":
            node.freeze(fault.seconds)
        elif fault.kind == "suspend":
            node.suspend(fault.seconds)
        elif fault.kind in ("cut", "mute", "deafen"):
            for source, target in self._cut_links(fault):
                self.network.cut(source, target)
                if lasts:
                    after(functools.partial(self.network.heal, source, target))
        elif fault.kind == "reset" and node.ends:
            self.network.reset(node.ends[0])
        elif fault.kind == "stop":
            node.stop(STOP_GRACE_S)
        elif fault.kind == "stall":
            node.disk.stall()
            if lasts:
                after(node.disk.recover)

    def _cut_links(self, fault: Fault) -> list[tuple[int, int]]:
        others = [0] if fault.node else [node.number for node in self.nodes[1:]]
        away = [(fault.node, other) for other in others] if fault.kind != "deafen" else []
        back = [(other, fault.node) for other in others] if fault.kind != "mute" else []
        return away + back
