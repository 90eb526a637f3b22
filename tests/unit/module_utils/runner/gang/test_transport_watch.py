# SPDX-License-Identifier: GPL-3.0-or-later
"""What the head concludes of a run's fabric, from logs that nodes of two ranks have read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.job import TransportProof
from ansible_collections.muster.train.plugins.module_utils._records.transport import TRANSPORT
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.nccl_logs import NcclLogs
from ansible_collections.muster.train.plugins.module_utils.runner.gang.signs import Signs
from ansible_collections.muster.train.plugins.module_utils.runner.gang.transport_watch import (
    READ_S,
    SETTLED_S,
    TransportWatch,
)
from ansible_collections.muster.train.tests.support.coordinators import end_of, kinds, make_coordinator, report
from ansible_collections.muster.train.tests.support.jobs import make_job
from ansible_collections.muster.train.tests.support.nccl_logs import GDR, HCAS, NO_GDR, SOCKET, choice, edges

WARN, FAIL = (TransportProof(action, True, ["mlx5_0", "mlx5_1"], elsewhere=[]) for action in ("warn", "fail"))
Ranks = Sequence[Sequence[str]]
GOOD: Ranks = [choice(rank) + edges(rank, GDR) for rank in range(2)]
# What has to be failed, and whether before the first step.
FALLBACKS: dict[str, tuple[Ranks, str, str, bool]] = {
    "Socket": ([choice(rank, "Socket") + edges(rank, SOCKET) for rank in range(2)], "fail", "nccl transport", True),
    "Socket on one rank": ([GOOD[0], choice(1, "Socket") + edges(1, SOCKET)], "fail", "nccl transport", True),
    "no GPUDirect": ([choice(rank) + edges(rank, NO_GDR) for rank in range(2)], "fail", "nccl gdr", False),
    "half of the NICs": (
        [choice(rank, hcas=HCAS[:1]) + edges(rank, "NET/IB/0/GDRDMA") for rank in range(2)],
        "fail",
        "nccl nics",
        False,
    ),
    "half of the NICs used": (
        [choice(rank) + edges(rank, "NET/IB/0/GDRDMA") for rank in range(2)],
        "fail",
        "nccl nics",
        False,
    ),
    "no connection": ([choice(0), choice(1)], "unknown", "nccl edges", False),
    "no log": ([[], []], "unknown", "nccl log", False),
}


class Run:
    """A run of two nodes; the second one has the logs of the test, as its ranks wrote them."""

    def __init__(self, home: Path, proof: TransportProof, restarts: int = 0) -> None:
        self.home, self.coordinator, self.signs = (
            home,
            make_coordinator(2, max_restarts=restarts, lost_after=0),
            Signs(2),
        )
        self.watch = TransportWatch(proof)
        self.coordinator.final_cause = lambda: self.watch.final_cause(self.coordinator, self.signs)

    def report(
        self, number: int, ranks: Ranks, now: float, step: int | None = None, attempt: int = 0, **more: Any
    ) -> None:
        first = 2 * number
        job = make_job(self.home / f"n{number}", [], nnodes=2, nproc=2, world_size=4, first_rank=first, transport=WARN)
        logs = Path(job.run_dir, "logs")
        logs.mkdir(parents=True, exist_ok=True)
        reader = NcclLogs(job, WARN, job.run_dir)
        for rank, lines in enumerate(ranks):
            moved = [_moved(line, number) for line in lines]
            (logs / f"nccl.n{number}.{100 + rank}.log").write_text("".join(f"{line}\n" for line in moved))
        reader.look([100, 101])
        progress = {} if step is None else {"progress": {"step": step}}
        assert reader.report is not None
        sign: dict[str, Any] = {"attempt": attempt, "transport": {**reader.report.to_dict(), **more}, **progress}
        self.signs.note(number, sign, None, now)

    def tick(self, now: float) -> None:
        self.watch.watch(self.coordinator, self.signs, now)


def _moved(line: str, number: int) -> str:
    """The same line on another node, whose ranks are others."""
    if not number:
        return line
    line = line.replace("n0:", "n1:", 1)
    for rank in range(2):
        line = line.replace(f"comm 0x1 rank {rank} ", f"comm 0x1 rank {rank + 2} ")
        line = line.replace(f": {rank}[{rank}] -> {rank + 2}[{rank}]", f": {rank + 2}[{rank}] -> {rank}[{rank}]")
    return line


Make = Callable[..., Run]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    return lambda proof=FAIL, **more: Run(tmp_path, proof, **more)


def test_a_run_as_planned_is_proved_after_its_first_step(make: Make) -> None:
    run = make()
    for now, step in ((0.0, None), (1.0, 1)):
        run.report(0, GOOD, now, step)
        run.report(1, GOOD, now)
        run.tick(now)
        assert run.watch.verdict is None
    run.report(0, GOOD, 2.0, 2)
    run.tick(2.0)
    for number in range(2):
        run.report(number, GOOD, 2.0 + READ_S, 3)
    run.tick(2.0 + READ_S)
    known = run.watch.verdict
    assert known is not None
    assert (known.verdict, known.networks, known.gdr, known.nics, known.wanted_nics) == ("pass", ["IB"], True, 2, 2)
    assert run.coordinator.take_orders() == []


@pytest.mark.parametrize("case", FALLBACKS)
def test_a_fallback_on_one_node_ends_the_run_and_is_named(make: Make, case: str) -> None:
    ranks, verdict, check, is_early = FALLBACKS[case]
    run = make()
    for now, step in ((0.0, 1), (2.0, 2), (3.0 + READ_S, 3), (3.0 + SETTLED_S, 4)):
        if is_early or now < 3.0 + READ_S:
            assert (run.watch.verdict is not None) is (is_early and now > 0)
        run.report(0, GOOD, now, step)
        run.report(1, ranks, now)
        run.tick(now)
    known = run.watch.verdict
    assert known is not None and known.finding is not None
    assert (known.verdict, known.node, known.finding.check, known.is_stopped) == (verdict, "n1", check, True)
    assert kinds(run.coordinator.take_orders()) == [(0, "stop"), (1, "stop")]
    run.coordinator.on_failure(0, report("failed", rank=0), 19.0)  # as its peers end
    for number in range(2):
        run.coordinator.on_drained(number, report("stopped"), 20.0)
    end = end_of(run.coordinator.take_orders())
    assert (end["verdict"], end["kind"], end["node"]) == ("failed", TRANSPORT, "n1")


@pytest.mark.parametrize("case", FALLBACKS)
def test_under_warn_it_goes_on(make: Make, case: str) -> None:
    ranks, verdict, _check, _early = FALLBACKS[case]
    run = make(WARN)
    for now, step in ((0.0, 1), (2.0, 2), (3.0 + SETTLED_S, 4)):
        run.report(0, GOOD, now, step)
        run.report(1, ranks, now)
        run.tick(now)
    assert run.watch.verdict is not None
    assert (run.watch.verdict.verdict, run.watch.verdict.is_stopped) == (verdict, False)
    for number in range(2):
        run.coordinator.on_drained(number, report("succeeded"), 20.0)
    assert end_of(run.coordinator.take_orders())["verdict"] == "succeeded"


@pytest.mark.parametrize("case", [*FALLBACKS, None])
def test_at_the_end_only_what_is_proved_succeeds(make: Make, case: str | None) -> None:
    """Also of a program that reports no step, and of nodes that never report."""
    run = make()
    if case is not None:
        run.report(0, GOOD, 0.0)
        run.report(1, FALLBACKS[case][0], 0.0)
    for number in range(2):
        run.coordinator.on_drained(number, report("succeeded"), 20.0)
    end = end_of(run.coordinator.take_orders())
    assert (end["verdict"], end["kind"], end["node"]) == ("failed", TRANSPORT, "n0" if case is None else "n1")
    assert run.coordinator.summary()["phases"] == {"n0": "succeeded", "n1": "succeeded"}


def test_a_proof_lets_the_run_succeed(make: Make) -> None:
    run = make()
    for number in range(2):
        run.report(number, GOOD, 0.0)
        run.coordinator.on_drained(number, report("succeeded"), 20.0)
    assert end_of(run.coordinator.take_orders())["verdict"] == "succeeded"
    assert run.watch.verdict is not None and run.watch.verdict.verdict == "pass"


@pytest.mark.parametrize(("case", "verdict"), [("no connection", "pass"), ("Socket on one rank", "fail")])
def test_only_another_fabric_takes_a_proof_back(make: Make, case: str, verdict: str) -> None:
    run = make(WARN)
    for now, step, ranks in ((0.0, 1, GOOD), (2.0, 2, GOOD), (2.0 + READ_S, 3, GOOD), (3.0 + SETTLED_S, 4, None)):
        run.report(0, GOOD, now, step)
        run.report(1, ranks or FALLBACKS[case][0], now)
        run.tick(now)
    assert run.watch.verdict is not None and run.watch.verdict.verdict == verdict


def test_a_node_whose_storage_does_not_answer_is_waited_for(make: Make) -> None:
    run = make()
    for now, step in ((0.0, 1), (2.0, 2), (3.0 + SETTLED_S, 4)):
        run.report(0, GOOD, now, step)
        run.report(1, [choice(0), choice(1)], now)
        run.signs.stalled_s[1] = 7
        run.tick(now)
    assert run.watch.verdict is None


def test_a_node_that_has_not_read_its_logs_to_their_end_is_waited_for(make: Make) -> None:
    run = make()
    for now, step in ((0.0, 1), (2.0, 2), (3.0 + SETTLED_S, 4)):
        run.report(0, GOOD, now, step)
        run.report(1, [choice(0), choice(1)], now, is_behind=True)
        run.tick(now)
    assert run.watch.verdict is None
    run.report(1, [choice(0), choice(1)], 30.0)
    run.tick(30.0)
    assert run.watch.verdict is not None and run.watch.verdict.verdict == "unknown"


def test_a_failed_rank_stays_the_cause_and_another_attempt_is_judged_anew(make: Make) -> None:
    run = make(restarts=3)
    run.report(0, GOOD, 0.0)
    run.report(1, GOOD, 0.0)
    run.coordinator.on_failure(1, report("failed", rank=3), 1.0)
    for number in range(2):
        run.coordinator.on_drained(number, report("failed" if number else "stopped", step=4), 2.0)
    run.coordinator.tick(60.0)
    assert run.coordinator.attempt == 1
    run.tick(61.0)
    assert run.watch.verdict is None
    run.report(1, FALLBACKS["Socket"][0], 62.0, attempt=1)
    run.tick(62.0)
    for number in range(2):
        run.coordinator.on_drained(number, report("stopped", step=5), 63.0)
    run.coordinator.tick(120.0)
    orders = run.coordinator.take_orders()
    assert end_of(orders)["kind"] == TRANSPORT  # no third attempt over the same fabric


def test_what_nodes_report_may_be_forged(make: Make) -> None:
    nested: Any = []
    for _level in range(5000):
        nested = [nested]
    forged: list[Any] = [None, 7, "x", [], nested, {"verdict": nested}, {"verdict": "pass", "nics": "x", "finding": []}]
    for number, data in enumerate(forged):
        run = make(WARN)
        for now, step in ((0.0, 1), (2.0, 2), (3.0 + SETTLED_S, 4)):
            run.report(0, GOOD, now, step)
            run.signs.note(1, {"attempt": 0, "transport": data, "progress": {"step": data}}, None, now)
            run.tick(now)
        last = number == len(forged) - 1
        assert run.watch.verdict is not None and run.watch.verdict.verdict == ("pass" if last else "unknown")


def test_without_a_plan_to_prove_it_nothing_is_concluded(make: Make) -> None:
    run = make(None)
    run.report(1, FALLBACKS["Socket"][0], 0.0, 5)
    run.tick(100.0)
    assert run.watch.verdict is None
    for number in range(2):
        run.coordinator.on_drained(number, report("succeeded"), 20.0)
    assert end_of(run.coordinator.take_orders())["verdict"] == "succeeded"
