# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated node: a real supervisor on a machine whose clock, network, storage and ranks are of the world."""

from __future__ import annotations

import functools
import math
import selectors
import socket
import types
from collections.abc import Callable, Hashable, Sequence
from typing import Any, cast

from ansible_collections.muster.train.plugins.module_utils._records.job import Job
from ansible_collections.muster.train.plugins.module_utils._records.layout import STATE
from ansible_collections.muster.train.plugins.module_utils._records.run import StopRequest
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.attempt import Attempt
from ansible_collections.muster.train.plugins.module_utils.runner.disk import Answer, DiskThread
from ansible_collections.muster.train.plugins.module_utils.runner.gang.base import Gang
from ansible_collections.muster.train.plugins.module_utils.runner.gang.network import GangNetwork
from ansible_collections.muster.train.plugins.module_utils.runner.machine import Machine
from ansible_collections.muster.train.plugins.module_utils.runner.requests import StopRequests
from ansible_collections.muster.train.plugins.module_utils.runner.supervisor import Supervisor
from ansible_collections.muster.train.plugins.module_utils.runner.upkeep import Upkeep

from .attempt import Claim, SimulatedAttempt
from .network import End, Listener, Network
from .scenario import Scenario
from .world import Task, World

KEY = "0123456789abcdef" * 4
# How long the storage takes for a call.
DISK_S = 0.01


class Node:
    """A host with one runner; world_nodes are all hosts by number."""

    def __init__(self, world: World, network: Network, job: Job, scenario: Scenario, nodes: Sequence[Node]) -> None:
        self.world, self.network, self.job, self.tick_s = world, network, job, scenario.tick_s
        self.number = job.node_rank
        self.world_nodes = nodes
        self.part_of = scenario.part_of
        self.on_turn: Callable[[], None] = lambda: None
        self.ends: list[End] = []
        self.claims: list[Claim] = []
        self.freezes: list[tuple[float, float]] = []
        self.document: dict[str, Any] = {}  # its state as last written
        self.error: Exception | None = None
        self.stopped_at = math.inf
        self.is_up = True
        self.is_killed = False
        self.is_frozen = False
        self.stood_s = 0.0  # for how long its clock has stood still
        self.attempt: SimulatedAttempt | None = None
        self.gang: Gang | None = None
        self.requests = SimulatedRequests(job)
        self.disk = SimulatedDisk(self)
        self.task: Task | None = None
        self._waiting: object = None
        self._is_due = False

    def start(self) -> None:
        if self.is_up and not self.is_killed:
            self.world.trace(f"n{self.number} starts its runner")
            self.task = Task(self.world, self._main)
            self.task.resume()

    def _main(self) -> None:
        machine = SimulatedMachine(self)
        upkeep = Upkeep(self.job, self.job.run_dir, [])
        try:
            Supervisor(
                self.job, self.job.run_dir, {"key": KEY, "environment": {}}, self.requests, upkeep, machine
            ).run()
        except Exception as error:
            self.error = error
        for end in [*self.ends]:
            end.close()
        self.world.trace(f"n{self.number} ends:", self.document["phase"], self.document.get("end"))

    @property
    def is_over(self) -> bool:
        """Whether its runner has ended, or never will."""
        is_gone = self.is_killed or not self.is_up or (self.is_frozen and self.freezes[-1][1] == math.inf)
        return is_gone or (self.task is not None and self.task.is_over)

    # -- time ----------------------------------------------------------------------------------------------------

    def wait(self, until: float) -> None:
        """Let the runner wait until then, or until something wakes it."""
        assert self.task is not None
        self._waiting = token = object()
        self.world.at(until, functools.partial(self.wake, token))
        self.task.pause()

    def wake(self, token: object = None) -> None:
        if self._waiting is None or token not in (None, self._waiting) or self.task is None:
            return
        if self.is_frozen:
            self._is_due = True
            return
        self._waiting, self._is_due = None, False
        self.task.resume()

    def suspend(self, seconds: float) -> None:
        """Freeze it for so many seconds, which its clock does not count."""
        self.freeze(seconds)
        self.stood_s += seconds

    def freeze(self, seconds: float) -> None:
        """Let nothing on it move for so many seconds."""
        since = self.world.now
        until = max(since + seconds, *(until for _since, until in self.freezes), 0.0)
        if not self.is_frozen:
            self.freezes.append((since, until))
        self.freezes[-1] = self.freezes[-1][0], until
        self.is_frozen = True
        if until != math.inf:
            self.world.at(until, self._thaw)

    def _thaw(self) -> None:
        since, until = self.freezes[-1]
        if self.is_frozen and self.is_up and self.world.now >= until:
            self.is_frozen = False
            if self.attempt is not None:
                self.attempt.postpone(until - since)
            if self._is_due:
                self.wake()

    def stop(self, grace: float) -> None:
        """Request a stop, as the verb does."""
        self.requests.request = StopRequest("stop requested", grace)
        self.stopped_at = min(self.stopped_at, self.world.now)

    def kill(self) -> None:
        """Kill the runner; the kernel closes its connections, and sends SIGTERM to its ranks."""
        if self.is_killed or not self.is_up:
            return
        self.is_killed = True
        if self.task is not None:
            self.task.kill()
        if self.number == 0 and self.network.listener is not None:
            self.network.listener.close()
        for end in [*self.ends]:
            end.close()
        if self.attempt is not None:
            self.attempt.orphan()

    def crash(self) -> None:
        """Lose the power: nothing is sent any more, not even the end of a connection."""
        if not self.is_up:
            return
        self.is_up = False
        if self.task is not None:
            self.task.kill()
        for claim in self.claims:
            claim.release(self.world.now)


class SimulatedMachine(Machine):
    """What the supervisor of a node gets instead of the real machine."""

    def __init__(self, node: Node) -> None:
        self._node = node
        network = node.network
        self.network = GangNetwork(
            clock=lambda: node.world.now - node.stood_s,
            nonce=lambda: f"{node.world.chance.getrandbits(128):032x}",
            connect=cast(Callable[..., socket.socket], functools.partial(network.connect, node)),
            reconnect=cast(Callable[..., socket.socket], functools.partial(network.reconnect, node)),
            bind=cast(Callable[..., socket.socket], lambda _address, _port: Listener(network, node)),
            keep_port=cast(Callable[..., socket.socket], lambda _port: types.SimpleNamespace(close=lambda: None)),
        )
        self.selector = SimulatedSelector(node)
        self.disk = cast(DiskThread, node.disk)

    def prepare(self) -> None:
        pass

    def kill_all(self) -> None:
        if self._node.attempt is not None:
            self._node.attempt.claim.release(self._node.world.now)

    def join(self, job: Job, key: bytes) -> Gang:
        self._node.gang = super().join(job, key)
        return self._node.gang

    def start_attempt(self, job: Job, _run_dir: str, number: int, *_rest: Any) -> Attempt:
        node = self._node
        attempt = node.attempt = SimulatedAttempt(
            node.world, node.number, job, number, node.part_of(node.number, number)
        )
        node.claims.append(attempt.claim)
        return cast(Attempt, attempt)


class SimulatedRequests(StopRequests):
    """The stop requests of a node: that of the history, once it has come."""

    def __init__(self, job: Job) -> None:
        super().__init__(job, job.run_dir)
        self.request: StopRequest | None = None

    def look(self) -> StopRequest | None:
        return self.request

    def poll(self, _disk: DiskThread) -> StopRequest | None:
        return self.request


class SimulatedSelector(selectors.BaseSelector):
    """The event loop of a node: what has arrived, or a tick."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._keys: dict[Any, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        self._keys[fileobj] = selectors.SelectorKey(fileobj, 0, events, data)
        return self._keys[fileobj]

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys.pop(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._node.on_turn()
        if not (ready := self._ready()):
            self._node.wait(self._node.world.now + max(timeout or 0.0, self._node.tick_s))
            ready = self._ready()
        return ready

    def get_map(self) -> Any:
        return self._keys

    def _ready(self) -> list[tuple[selectors.SelectorKey, int]]:
        ready = [(key, selectors.EVENT_READ) for end, key in self._keys.items() if end.is_readable]
        self._node.world.chance.shuffle(ready)
        return ready


class SimulatedDisk:
    """The disk thread of a node: it answers unless it stalls. Of what is written only the state is kept."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._stalled_since: float | None = None
        self._asked: list[Answer] = []

    def add(self, function: Callable[[], Any], size: int = 0) -> None:
        pass

    def put(self, key: Hashable, function: Callable[[], Any], last: bool = False) -> None:
        if key == STATE and isinstance(function, functools.partial):
            self._node.document = function.args[0]

    def ask(self, _function: Callable[[], Any]) -> Answer:
        answer = Answer()
        self._asked.append(answer)
        if self._node.world.chance.random() < 0.5 and self._stalled_since is None:
            answer.done = True  # before anybody looks
        self._node.world.after(DISK_S, self._answer)
        return answer

    def stalled_s(self, now: float) -> float:
        return 0.0 if self._stalled_since is None else now - self._stalled_since

    def note_answer(self) -> None:
        pass

    def check(self) -> None:
        pass

    def wait(self, seconds: float) -> bool:
        deadline = self._node.world.now + seconds
        while self._stalled_since is not None and self._node.world.now < deadline:
            self._node.wait(deadline)
        return self._stalled_since is None

    def stall(self) -> None:
        if self._stalled_since is None:
            self._stalled_since = self._node.world.now

    def recover(self) -> None:
        self._stalled_since = None
        self._answer()

    def _answer(self) -> None:
        if self._stalled_since is None:
            for answer in self._asked:
                answer.done = True
            self._asked.clear()
            self._node.wake()
