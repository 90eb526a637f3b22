# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of cause and consequence, on what torch 2.13 really says when ranks of two nodes die together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.cause import judge_text, last_exception
from ansible_collections.muster.train.plugins.module_utils._records.likeness import Likeness
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.plugin_utils._results import causes
from ansible_collections.muster.train.plugins.plugin_utils._results.causes import Cause, Failure

GLOO = (
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer "
    "[127.0.0.1]:60820. This is typically caused by a remote worker crashing. Check the logs of the remote worker "
    "before reporting an error."
)
GLOO_RESET = (
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:537] Read error [127.0.0.1]:31616: "
    "Connection reset by peer. This is typically caused by a remote worker hanging or bugs in the application."
)
NCCL = (
    "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.hpp:268, "
    "remote process exited or there was a network error, NCCL version 2.21.5\n"
    "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\n"
    "Last error:\nsocketProgressOpt: Call to recv from 10.0.0.2<33759> failed : Connection reset by peer"
)
STORE = (
    "torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was likely closed. "
    "Did the remote server shutdown or crash?"
)


def failures_of(run: dict[str, Any]) -> list[Failure]:
    return causes.failures_of(RunRecord.from_dict(run))


def ordered(runs: Iterable[dict[str, Any]]) -> list[Failure]:
    return causes.ordered(map(RunRecord.from_dict, runs))


def failure(rank: int, code: int | None = None, signal: str | None = None, **more: Any) -> dict[str, Any]:
    record = {"rank": rank, "local_rank": rank % 2, "exit_code": code, "signal": signal, "message": None}
    return {**record, "traceback": [], "time": 100.0, **more}


def failed(node: str, *failures: dict[str, Any], **more: Any) -> dict[str, Any]:
    run: dict[str, Any] = {"node": node, "phase": "failed", "why": "?", "log_tail": [], "first": None, "ended": None}
    if failures:
        run.update(first=failures[0], failures=list(failures))
    return {**run, **more}


def place(runs: Iterable[dict[str, Any]]) -> tuple[str, int | None]:
    """The node and the rank of the likeliest cause."""
    cause = ordered(runs)[0].cause
    return cause.node, cause.rank


def aborted(step: float, total: float | None, **rank: Any) -> list[dict[str, Any]]:
    rank = {"log_tail": ["terminate called without an active exception"], **rank}
    return [failed("node1", failure(3, None, "SIGABRT", **rank), progress={"step": step, "total_steps": total})]


def lost_peer(rank: int, time: float = 100.0, **more: Any) -> dict[str, Any]:
    return failure(rank, 1, message=GLOO, time=time, **more)


PEERS_TAIL = ["[rank0]: Traceback (most recent call last):", f"[rank0]: {GLOO}"]
IN_LOG = failed("node0", failure(0, 1, message="<NONE>", log_tail=PEERS_TAIL))
VICTIM = failure(0, None, "SIGTERM", message=GLOO)
LOST = {"node": "node1", "phase": "lost", "why": "the node was rebooted while the run was running"}
SILENT = {"node": "node1", "phase": "unreachable", "why": "ssh: connect to host 10.0.0.2: No route to host"}
KILLED = failed("node0", why="the launcher was killed by SIGKILL", ended="2026-11-20T14:30:52Z")
ABORTED = failed("node0", failure(0, None, "SIGABRT", log_tail=["free(): invalid pointer"]))
NAMED = "node0: cannot start"
OOM = "OOM: the kernel killed 1 process (Connection reset by peer, NCCL)"
OF_MEMORY = failed(
    "node0",
    failure(1, None, "SIGKILL", oom_killed=True, oom_detail=OOM),
    failure(2, 1, message="RuntimeError: worker died", oom_detail=OOM),
    failure(3, 1, oom_detail=OOM),
)
# The nodes of a run, and the node and the rank of what likely caused its failure.
CASES: dict[str, tuple[list[dict[str, Any]], tuple[str, int | None]]] = {
    # As measured: rank 3 got SIGSEGV; the seconds of torchrun's records put the others first.
    "a segfault that is recorded after its victims": (
        [
            failed("node0", lost_peer(0), failure(1, None, "SIGTERM", message=GLOO, time=101)),
            failed("node1", failure(2, None, "SIGTERM", message=GLOO), failure(3, None, "SIGSEGV", time=101)),
        ],
        ("node1", 3),
    ),
    # As measured with `sys.exit(7)` on rank 1: torchrun's "root cause" of node0 was rank 0, ended by SIGTERM.
    "an exit code beside a victim": (
        [failed("node1", lost_peer(2), failure(3, None, "SIGTERM")), failed("node0", VICTIM, failure(1, 7, time=101))],
        ("node0", 1),
    ),
    "an exception": (
        [failed("node0", lost_peer(0, 99)), failed("node1", failure(2, 1, message="ValueError: bad loss: nan"))],
        ("node1", 2),
    ),
    "the earlier of two": ([failed("node0", failure(0, 7, time=101)), failed("node1", failure(2, 9))], ("node1", 2)),
    "the earliest where all lost a peer": (
        [failed("node0", lost_peer(0, 101)), failed("node1", failure(2, 1, message=NCCL))],
        ("node1", 2),
    ),
    "an exit code beside a log of a lost peer": ([IN_LOG, failed("node1", failure(2, 7, time=105))], ("node1", 2)),
    "a log of a lost peer": ([IN_LOG], ("node0", 0)),
    "SIGTERM beside a lost peer": (
        [failed("node0", lost_peer(0, 90)), failed("node1", failure(1, None, "SIGTERM"))],
        ("node1", 1),
    ),
    "SIGABRT beside a lost peer": ([failed("node1", lost_peer(1, 90)), ABORTED], ("node0", 0)),
    "SIGABRT after all steps": (aborted(40, 40), ("node1", 3)),
    "an exit after all steps": (
        [failed("node1", failure(3, 4), progress={"step": 40, "total_steps": 40})],
        ("node1", 3),
    ),
    "SIGABRT before the last step": (aborted(39, 40), ("node1", 3)),
    "SIGABRT after steps whose number is not known": (aborted(40, None), ("node1", 3)),
    "SIGABRT of something else": ([ABORTED], ("node0", 0)),
    "SIGABRT after an exception": (aborted(40, 40, message="ValueError: x"), ("node1", 3)),
    "a launcher": ([failed("node1", lost_peer(2, 1)), KILLED], ("node0", None)),
    "a lost node": ([failed("node0", VICTIM), LOST], ("node1", None)),
    "a silent node": ([failed("node0", VICTIM), SILENT], ("node1", None)),
    "an exit beside a lost node": ([failed("node0", failure(0, 7)), LOST], ("node0", 0)),
    "a reason that names its node": (
        [failed("node0", why=NAMED, end={"verdict": "failed", "why": NAMED, "node": "node0"})],
        ("node0", None),
    ),
    # Whatever it begins with, any other reason is not known to name the node.
    "a reason that may name its node": (
        [failed("node0", why=NAMED, end={"verdict": "failed", "why": "?", "node": "node1"})],
        ("node0", None),
    ),
    "signs that cannot be printed": (
        [failed("node0", failure(0, 1, message="ValueError: a\nb\x1b[2J\r\x00c"))],
        ("node0", 0),
    ),
}


@pytest.mark.parametrize(
    "text",
    [
        GLOO,
        GLOO_RESET,
        NCCL,
        STORE,
        "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:84] Timed out waiting 1800000ms for recv operation",
        "RuntimeError: Gloo connectFullMesh failed with [gloo/transport/tcp/socket.cc] Connect timeout [10.0.0.2]",
        "torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 1/2 clients joined.",
        "DistNetworkError: The client socket has timed out after 60000ms while trying to connect to (10.0.0.1, 29400).",
        "[c10d] recvValue failed on SocketImpl(fd=3, addr=a, remote=b): Connection reset by peer",
        "NCCL WARN socketProgress: Connection closed by remote peer node2<42830>",
        "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE)",
        "torch.distributed.DistBackendError: [1] is setting up NCCL communicator: wait timeout after 600000ms",
    ],
)
def test_the_words_of_a_lost_peer(text: str) -> None:
    assert judge_text(text) is Likeness.PEER


@pytest.mark.parametrize(
    ("text", "likeness"),
    [
        ("ValueError: bad loss: nan", Likeness.OWN),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", Likeness.OWN),
        ("torch.distributed.DistBackendError: NCCL error: unhandled cuda error, ncclUnhandledCudaError", Likeness.OWN),
        ("ConnectionResetError: [Errno 104] Connection reset by peer", Likeness.UNCLEAR),
        ("BrokenPipeError: [Errno 32] Broken pipe", Likeness.UNCLEAR),
        ("", Likeness.OWN),
    ],
)
def test_other_words(text: str, likeness: Likeness) -> None:
    assert judge_text(text) is likeness


@pytest.mark.parametrize(("runs", "expected"), CASES.values(), ids=CASES)
def test_the_likeliest_cause(runs: list[dict[str, Any]], expected: tuple[str, int | None]) -> None:
    assert place(runs) == expected
    assert all(failure.text.isprintable() for failure in ordered(runs))


def test_a_segfault_wins_although_torchrun_saw_its_victims_first() -> None:
    runs, _place = CASES["a segfault that is recorded after its victims"]
    likenesses = [failure.likeness for failure in ordered(runs)]
    assert likenesses == [Likeness.OWN, Likeness.PEER, Likeness.ENDED, Likeness.ENDED]


def test_an_exception_of_its_own_is_not_excused_by_an_older_warning_in_the_log() -> None:
    tail = ["[W] [c10d] recvValue failed: Connection reset by peer", "[rank0]: KeyError: 'lr'", "bye"]
    assert failures_of(failed("node0", failure(0, 1, log_tail=tail)))[0].likeness is Likeness.OWN


def test_sigterm_is_a_consequence_beside_another_failure_and_unclear_alone() -> None:
    alone = failed("node1", failure(1, None, "SIGTERM"))
    assert failures_of(alone)[0].likeness is Likeness.UNCLEAR
    beside = failed("node1", failure(2, None, "SIGTERM"), failure(3, 1, message=GLOO))
    assert [cause.likeness for cause in failures_of(beside)] == [Likeness.ENDED, Likeness.PEER]


def test_sigkill_long_after_another_failure_is_torchruns() -> None:
    ignores_sigterm = failed("node0", failure(0, 1, message=GLOO, time=100), failure(1, None, "SIGKILL", time=130))
    assert [cause.likeness for cause in failures_of(ignores_sigterm)] == [Likeness.PEER, Likeness.ENDED]
    # As measured: killed from outside, and noted in the second after its victim's.
    out_of_memory = failed("node0", failure(0, 1, message=GLOO, time=100), failure(1, None, "SIGKILL", time=101))
    assert [cause.likeness for cause in failures_of(out_of_memory)] == [Likeness.PEER, Likeness.OWN]


def test_sigabrt_is_the_watchdogs_or_its_own() -> None:
    watchdog = ["[rank0]:[E] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5)"]
    assert failures_of(failed("node0", failure(0, None, "SIGABRT", log_tail=watchdog)))[0].likeness is Likeness.PEER
    assert failures_of(ABORTED)[0].likeness is Likeness.UNCLEAR
    leaving = failed("node0", failure(0, None, "SIGABRT", message="ValueError: no loss", log_tail=["terminate called"]))
    assert failures_of(leaving)[0].likeness is Likeness.OWN


def test_the_launchers_log_is_not_taken_for_the_ranks() -> None:
    silent = failures_of(failed("node0", failure(1, 7, log_tail=[]), log_tail=[GLOO]))[0]
    assert (silent.tail, silent.likeness) == ([], Likeness.OWN)


def test_a_launcher_without_a_failed_rank() -> None:
    late = failed("node1", why="the launcher exited with code 1", log_tail=[STORE])
    assert failures_of(late)[0].likeness is Likeness.PEER
    assert failures_of(late)[0].tail == [STORE]
    judged = failed("node1", why="the launcher exited with code 1", log_tail=[STORE], likeness=3)
    assert failures_of(judged)[0].likeness is Likeness.UNCLEAR


def test_a_sentence_of_musters_is_not_judged() -> None:
    assert failures_of(failed("node0", why=f"the launcher exited with code 1: {STORE}"))[0].likeness is Likeness.OWN


def test_what_the_runner_says_of_memory_is_never_an_exception() -> None:
    assert {failure.likeness for failure in failures_of(OF_MEMORY)} == {Likeness.OWN}
    assert [failure.cause for failure in failures_of(OF_MEMORY)] == [
        Cause("node0", 1, None, "SIGKILL", None, OOM, [], True),
        Cause("node0", 2, 1, None, "RuntimeError", f"worker died; {OOM}", []),
        Cause("node0", 3, 1, None, None, OOM, []),
    ]


def test_nothing_went_wrong() -> None:
    assert ordered([{"node": "a", "phase": "succeeded"}, {"node": "b", "phase": "running", "why": None}]) == []


def test_last_exception() -> None:
    assert last_exception(["x", "ValueError: one", "[rank3]: torch.OutOfMemoryError: two", "bye"]) == (
        "torch.OutOfMemoryError: two"
    )
    assert last_exception(["KeyboardInterrupt"]) == "KeyboardInterrupt"
    assert last_exception(["all is well", "Errors: none", "loss: 1.0"]) is None


@pytest.mark.parametrize("junk", [{"time": "soon"}, {"time": None}, {"message": ["x"]}, {"log_tail": None}])
def test_records_of_an_unexpected_shape(junk: dict[str, Any]) -> None:
    cause = failures_of(failed("node0", failure(0, 1, **junk)))[0].cause
    assert (cause.rank, cause.exit_code) == (0, 1)


def test_the_cause_is_data() -> None:
    trace = ["Traceback (most recent call last):", "ValueError: bad loss: nan"]
    recorded = failed("node1", failure(2, 1, message="ValueError: bad loss: nan", traceback=trace))
    assert failures_of(recorded)[0].cause == Cause("node1", 2, 1, None, "ValueError", "bad loss: nan", trace)
    assert failures_of(failed("node0", failure(1, 7, message="<NONE>")))[0].cause == Cause("node0", 1, 7, traceback=[])
    logged = failed("node1", failure(2, 1, message="<NONE>", log_tail=["[rank2]: torch.OutOfMemoryError: CUDA"]))
    assert failures_of(logged)[0].cause == Cause("node1", 2, 1, None, "torch.OutOfMemoryError", "CUDA", [])
    assert failures_of(failed("node1", failure(2, None, "SIGSEGV")))[0].cause == Cause(
        "node1", 2, None, "SIGSEGV", None, None, []
    )
    launcher = failed("node0", why="x", exit_code=1, log_tail=["usage", "KeyError: 'lr'"])
    assert failures_of(launcher)[0].cause == Cause("node0", None, 1, None, "KeyError", "'lr'")
    raised = [
        "up",
        "[rank2]: Traceback (most recent call last):",
        '[rank2]:   File "a.py"',
        "[rank2]: KeyError: 1",
        "x",
    ]
    trace_of_log = failures_of(failed("node1", failure(2, 1, log_tail=raised)))[0].cause.traceback
    assert trace_of_log == ["Traceback (most recent call last):", '  File "a.py"', "KeyError: 1"]
