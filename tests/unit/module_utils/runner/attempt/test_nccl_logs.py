# SPDX-License-Identifier: GPL-3.0-or-later
"""What a runner reads in the logs that NCCL writes on its node; ranks 0 and 1 of 4 are the processes 100 and 101."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.job import Job, TransportProof, Variable
from ansible_collections.muster.train.plugins.module_utils._records.transport import NodeTransport
from ansible_collections.muster.train.plugins.module_utils.runner.attempt import nccl_logs
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.nccl_logs import NcclLogs
from ansible_collections.muster.train.tests.support.captures import captures, expected, text
from ansible_collections.muster.train.tests.support.jobs import make_job
from ansible_collections.muster.train.tests.support.nccl_logs import (
    GDR,
    HCAS,
    NO_GDR,
    SOCKET,
    choice,
    edges,
    says,
    ways,
)

PROOF = TransportProof("fail", True, ["mlx5_0", "mlx5_1"], elsewhere=[])
PIDS = (100, 101)
READ = [Variable("NCCL_IB_HCA", "=mlx5_0,mlx5_1", "fabric", "")]
GOOD = [choice(rank) + edges(rank, GDR) + edges(rank, GDR, direction="receive") for rank in range(2)]


def node(tmp_path: Path, proof: TransportProof = PROOF, **changes: Any) -> tuple[Job, Path]:
    job = make_job(tmp_path, [], **{"nnodes": 2, "nproc": 2, "world_size": 4, "transport": proof, **changes})
    logs = Path(job.run_dir, "logs")
    logs.mkdir(parents=True, exist_ok=True)
    return job, logs


def write(logs: Path, pid: int, lines: list[str]) -> None:
    (logs / f"nccl.n0.{pid}.log").write_text("".join(f"{line}\n" for line in lines))


@pytest.fixture
def look(tmp_path: Path) -> Callable[..., NodeTransport]:
    """What is known of a node after one look at the logs of its processes."""

    def looked(logged: dict[int, list[str]], pids: Sequence[int] | None = PIDS, **changes: Any) -> NodeTransport:
        job, logs = node(tmp_path, **changes)
        reader = NcclLogs(job, job.transport or PROOF, job.run_dir)
        for pid, lines in logged.items():
            write(logs, pid, lines)
        reader.look(pids)
        assert reader.report is not None
        return reader.report

    return looked


def of_ranks(*logs: list[str]) -> dict[int, list[str]]:
    return {100 + rank: lines for rank, lines in enumerate(logs)}


def test_a_node_as_planned(look: Callable[..., NodeTransport]) -> None:
    report = look(of_ranks(*GOOD))
    assert (report.verdict, report.networks, report.gdr, report.nics, report.wanted_nics) == (
        "pass",
        ["IB"],
        True,
        2,
        2,
    )
    assert report.finding is None


def test_a_log_of_which_there_is_more_is_said_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nccl_logs, "LOOK_BYTES", 600)
    job, logs = node(tmp_path)
    reader = NcclLogs(job, PROOF, job.run_dir)
    behind: list[tuple[bool, str | None]] = []
    for pid, lines in of_ranks(*GOOD).items():
        write(logs, pid, lines)
    while not behind or behind[-1][0]:
        reader.look(PIDS)
        assert reader.report is not None
        behind.append((reader.report.is_behind, reader.report.verdict))
    assert (len(behind) > 1, behind[-1]) == (True, (False, "pass"))


@pytest.mark.parametrize(
    ("logged", "check", "ranks", "certain"),
    [
        (
            [choice(0, "Socket") + edges(0, SOCKET), choice(1, "Socket") + edges(1, SOCKET)],
            "nccl transport",
            "0-1",
            True,
        ),
        ([GOOD[0], choice(1, "Socket") + edges(1, SOCKET)], "nccl transport", "1", True),
        # Its receives, which come later, may have it.
        ([choice(rank) + edges(rank, NO_GDR) for rank in range(2)], "nccl gdr", "0-1", False),
        ([choice(rank) + way for rank, way in enumerate(ways(GDR, NO_GDR))], "nccl gdr", "0-1", True),
        (
            [choice(rank, hcas=HCAS[:1]) + edges(rank, "NET/IB/0/GDRDMA") for rank in range(2)],
            "nccl nics",
            "0-1",
            False,
        ),
        ([choice(rank) + edges(rank, "NET/IB/0/GDRDMA") for rank in range(2)], "nccl nics", "0-1", False),
    ],
)
def test_a_fallback_is_named(
    look: Callable[..., NodeTransport], logged: list[list[str]], check: str, ranks: str, certain: bool
) -> None:
    report = look(of_ranks(*logged))
    assert report.finding is not None
    assert (report.verdict, report.finding.check, report.finding.ranks) == ("fail", check, ranks)
    assert report.is_certain is certain


@pytest.mark.parametrize(
    ("logged", "check"),
    [([], "nccl log"), ([choice(0), choice(1)], "nccl edges"), ([GOOD[0]], "nccl ranks")],
)
def test_what_is_not_proved(look: Callable[..., NodeTransport], logged: list[list[str]], check: str) -> None:
    report = look(of_ranks(*logged))
    assert report.finding is not None
    assert (report.verdict, report.finding.check, report.is_certain) == ("unknown", check, False)


ALONE = ["n0:900:901 [0] NCCL INFO comm 0x9 rank 0 nranks 1 cudaDev 0 busId 1b000 - Init COMPLETE"]
HELPER = [line.replace("n0:100:", "n0:900:") for line in choice(0, "Socket") + edges(0, SOCKET)]


@pytest.mark.parametrize("helper", [ALONE, HELPER])
def test_a_process_that_is_no_rank_does_not_count(look: Callable[..., NodeTransport], helper: list[str]) -> None:
    assert look({**of_ranks(*GOOD), 900: helper}).verdict == "pass"


def test_a_communicator_of_one_does_not_make_a_rank_where_pids_are_not_known(
    look: Callable[..., NodeTransport],
) -> None:
    assert look({**of_ranks(*GOOD), 900: ALONE}, None).verdict == "pass"
    assert look({**of_ranks(*GOOD), 900: HELPER}, None).verdict == "fail"


def test_a_rank_under_a_profiler_is_its_child(look: Callable[..., NodeTransport]) -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(flush=True); input()'])"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None and parent.stdin is not None
        parent.stdout.readline()
        [child] = [int(pid) for pid in Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()]
        assert look({child: GOOD[0], 101: GOOD[1]}, [parent.pid, 101]).verdict == "pass"
        parent.stdin.write(b"\n")
        parent.stdin.close()


@pytest.mark.parametrize("path", captures("nccl_log"))
def test_logs_of_real_clusters(look: Callable[..., NodeTransport], path: Path) -> None:
    """What is known of each log decides its verdict."""
    facts = expected(path)
    report = look({100: text(path).splitlines()}, None, proof=TransportProof("fail", True, [], elsewhere=[]))
    if "Socket" in str(facts.get("network")):
        assert (report.verdict, report.is_certain) == ("fail", True)
    if facts.get("gdrdma") is False:
        assert report.verdict == "fail"
    if facts.get("network") == "IB" and facts.get("gdrdma") is True and not facts.get("kind"):
        assert report.verdict == "pass"


def test_a_log_is_read_as_it_grows(tmp_path: Path) -> None:
    job, logs = node(tmp_path)
    reader = NcclLogs(job, PROOF, job.run_dir)
    texts = {pid: "".join(f"{line}\n" for line in lines) for pid, lines in of_ranks(*GOOD).items()}
    verdicts = []
    for part in range(0, max(map(len, texts.values())), 50):
        for pid, whole in texts.items():
            with (logs / f"nccl.n0.{pid}.log").open("a") as log:
                log.write(whole[part : part + 50])
        reader.look(PIDS)
        verdicts.append(reader.report and reader.report.verdict)
    assert (verdicts[0], verdicts[-1]) == ("unknown", "pass")


def test_a_log_of_an_earlier_attempt_does_not_count_until_it_is_written_anew(tmp_path: Path) -> None:
    job, logs = node(tmp_path)
    for pid, lines in of_ranks(*GOOD).items():
        write(logs, pid, lines)
    reader = NcclLogs(job, PROOF, job.run_dir)
    reader.look(PIDS)
    assert reader.report is not None and reader.report.verdict == "unknown"
    for rank, pid in enumerate(PIDS):  # as NCCL opens it in a process with the same PID
        write(logs, pid, GOOD[rank] + says(rank, "more"))
    reader.look(PIDS)
    assert reader.report.verdict == "pass"


def test_what_is_read_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nccl_logs, "LOOK_BYTES", 2000)
    monkeypatch.setattr(nccl_logs, "ATTEMPT_BYTES", 5000)
    job, logs = node(tmp_path)
    reader = NcclLogs(job, PROOF, job.run_dir)
    write(logs, 100, says(0, *["nothing of interest"] * 1000) + GOOD[0])
    fed = []
    for _look in range(4):
        reader.look(PIDS)
        fed.append(reader._left)
    assert fed == [3000, 1000, 0, 0]
    assert reader.report is not None and reader.report.verdict == "unknown"


def test_a_log_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    job, logs = node(tmp_path)
    reader = NcclLogs(job, PROOF, job.run_dir)
    (logs / "nccl.n0.100.log").symlink_to("/etc/hostname")
    os.mkfifo(logs / "nccl.n0.101.log")
    (logs / "nccl.n0.102.log").mkdir()
    reader.look(PIDS)
    assert reader.report is not None and reader.report.verdict == "unknown"


def test_silence_after_the_connections_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job, logs = node(tmp_path)
    reader = NcclLogs(job, PROOF, job.run_dir)
    for pid, lines in of_ranks(*GOOD).items():
        write(logs, pid, lines)
    reader.look(PIDS)
    assert reader.report is not None and not reader.report.is_quiet
    later = time.monotonic() + nccl_logs.QUIET_S
    monkeypatch.setattr(time, "monotonic", lambda: later)
    reader.look(PIDS)
    assert reader.report.is_quiet


def test_what_keeps_nccl_from_saying_it_is_said_without_a_look(look: Callable[..., NodeTransport]) -> None:
    report = look(of_ranks(*GOOD), proof=TransportProof("warn", True, [], "NCCL_DEBUG=WARN (login)"))
    assert report.finding is not None
    assert (report.verdict, report.finding.observed) == ("unknown", "NCCL_DEBUG=WARN (login)")


@pytest.mark.parametrize(("value", "names"), [("=mlx5_1,mlx5_0", []), ("mlx5_0", ["NCCL_IB_HCA"])])
def test_variables_are_compared_with_the_plan(look: Callable[..., NodeTransport], value: str, names: list[str]) -> None:
    logged = [lines + says(rank, f"NCCL_IB_HCA set to {value}") for rank, lines in enumerate(GOOD)]
    assert [item.name for item in look(of_ranks(*logged), environment=READ).variables] == names
    unlogged = TransportProof("warn", True, ["mlx5_0", "mlx5_1"])
    assert look(of_ranks(*logged), environment=READ, proof=unlogged).variables == []
