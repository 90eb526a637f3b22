# SPDX-License-Identifier: GPL-3.0-or-later
"""No text is an interface: with every message in other words, the same is decided."""

from __future__ import annotations

import dataclasses
import errno
import inspect
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.cause import judge_rank, likeliest_first
from ansible_collections.muster.train.plugins.module_utils._records.likeness import Likeness
from ansible_collections.muster.train.plugins.module_utils._records.run import RankFailure, RunRecord
from ansible_collections.muster.train.plugins.module_utils.runner.attempt import launcher_failure, memory
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.memory import KernelMemory
from ansible_collections.muster.train.plugins.plugin_utils._checks.properties import GPU_COUNT
from ansible_collections.muster.train.plugins.plugin_utils._checks.report import Report
from ansible_collections.muster.train.plugins.plugin_utils._cluster import unreachable
from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import ClusterPolicy
from ansible_collections.muster.train.plugins.plugin_utils._cluster.reasons import REASONS
from ansible_collections.muster.train.plugins.plugin_utils._discover.endpoints import Endpoint, refuse
from ansible_collections.muster.train.plugins.plugin_utils._discover.host_keys import HostKey
from ansible_collections.muster.train.plugins.plugin_utils._findings import origin
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding, PlanError
from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.plugins.plugin_utils._request.host_list import Target
from ansible_collections.muster.train.plugins.plugin_utils._request.settings import Refusal, resolve_parameters
from ansible_collections.muster.train.plugins.plugin_utils._request.standing import standing
from ansible_collections.muster.train.plugins.plugin_utils._results import experiment
from ansible_collections.muster.train.plugins.plugin_utils._results.causes import ordered
from ansible_collections.muster.train.plugins.plugin_utils._results.infos import read_infos
from ansible_collections.muster.train.plugins.plugin_utils._results.report import not_started
from ansible_collections.muster.train.plugins.plugin_utils._results.summary import summarize
from ansible_collections.muster.train.plugins.plugin_utils._results.verdict import judge
from ansible_collections.muster.train.tests.support import plan_parts
from ansible_collections.muster.train.tests.support.preflight_parts import NAMES, Facts, report
from ansible_collections.muster.train.tests.support.words import TEXTS, TEXTS_OF, without_words

COLLECTION = "ansible_collections.muster.train.plugins."
# Texts that, taken for a library's, would be an exception and a lost peer.
TRAP = "Reworded: NCCL timed out, connection reset by peer: "
DEFAULTS = {"script": "train.py", "channels": 8, "env": {"NCCL_DEBUG": "INFO"}, "mode": "auto"}


def reworded(text: Any) -> Any:
    """Other words, whatever they are: nothing of the old text is left to compare with, at no place."""
    if isinstance(text, tuple):
        return tuple(map(reworded, text))
    return (
        TRAP + "".join(chr(ord(sign) + 0x2800 - 0x20) for sign in text if sign != " ")
        if isinstance(text, str) and text and not isinstance(text, Enum)
        else text
    )


def classes() -> Iterator[tuple[type, set[str]]]:
    """Every dataclass of the collection that has text, and its fields."""
    for name, module in list(sys.modules.items()):
        if name.startswith(COLLECTION):
            for _name, record_type in inspect.getmembers(module, inspect.isclass):
                if dataclasses.is_dataclass(record_type) and record_type.__module__ == name:
                    texts = TEXTS | TEXTS_OF.get(record_type.__name__, set())
                    fields = {field.name for field in dataclasses.fields(record_type) if field.init} & texts
                    if fields:
                        yield record_type, fields


def reword_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every record that has text get other words when it is made."""

    def patched(original: Callable[..., None], fields: set[str]) -> Callable[..., None]:
        signature = inspect.signature(original)

        def init(*args: Any, **kwargs: Any) -> None:
            bound = signature.bind(*args, **kwargs)
            for name in fields & bound.arguments.keys():
                bound.arguments[name] = reworded(bound.arguments[name])
            original(*bound.args, **bound.kwargs)

        return init

    for record_type, fields in classes():
        monkeypatch.setattr(record_type, "__init__", patched(vars(record_type)["__init__"], fields))
    for constant in vars(origin).values():
        if isinstance(constant, origin.Origin):
            object.__setattr__(constant, "label", reworded(constant.label))
    explanation = KernelMemory.explain
    monkeypatch.setattr(KernelMemory, "explain", lambda memory: reworded(explanation(memory)))
    # Nothing that is decided here is in the words of ssh or Ansible: no text of Muster's may match their patterns.
    reasons = [dataclasses.replace(reason, pattern=r"(?!)") for reason in REASONS]
    monkeypatch.setattr(unreachable, "REASONS", reasons)


@pytest.fixture
def restored() -> Iterator[None]:
    """Give the constants their words back."""
    labels = {id(it): (it, it.label) for it in vars(origin).values() if isinstance(it, origin.Origin)}
    yield
    for constant, label in labels.values():
        object.__setattr__(constant, "label", label)


def of_findings(findings: list[Finding]) -> list[tuple[str, str | None, str]]:
    return [(finding.check, finding.node, finding.status) for finding in findings]


def of_report(preflight_report: Report) -> Any:
    levels = [(result.finding.check, result.level) for result in preflight_report.results]
    return (
        of_findings(preflight_report.findings),
        levels,
        preflight_report.code,
        preflight_report.cluster.fabric,
        preflight_report.cluster.chosen,
    )


def of_plan(count: int = 2, on: list[Any] | None = None, **changes: Any) -> Any:
    asked = plan_parts.request(count, **changes)
    policy = plan_parts.policy(env={"NCCL_MIN_NCHANNELS": "4", "NCCL_DEBUG": "WARN"})
    try:
        return without_words(make_plan(asked, policy, on or plan_parts.nodes(count)))
    except PlanError as error:
        return of_findings(error.findings)


def of_verdicts() -> Iterator[tuple[str, Any]]:
    """The verdicts on two nodes in each pair of phases, one of them with a failed rank, an end and a reason."""
    phases = ("succeeded", "failed", "stopped", "lost", "running", "prepared", "not_found", "unreachable")
    rank = {"rank": 3, "exit_code": 1, "message": "ValueError: no loss", "time": 1.0}
    for phase in phases:
        for other in phases:
            why = "node1: rank 3 exited with code 1" if other == "failed" else "the storage does not answer"
            parts = {"node": "node1", "node_rank": 1, "why": why, "failures": [rank] if other == "failed" else []}
            end = {"verdict": other, "why": why, "node": "node1", "rank": 3}
            runs = [{"node": "node0", "node_rank": 0, "phase": phase, "end": end}, {"phase": other, **parts}]
            verdict = judge([RunRecord.from_dict({"nnodes": 2, "attempt": 0, **run}) for run in runs])
            yield f"{phase} and {other}", (verdict.verdict, verdict.node, verdict.rank, verdict.active)


def of_failures(runs: list[dict[str, Any]]) -> Any:
    """The failures of such nodes in order, and the verdict, without the texts about them."""
    records = list(map(RunRecord.from_dict, runs))
    causes = [(failure.cause.node, failure.likeness, failure.cause.exception) for failure in ordered(records)]
    return causes, (judge(records).node, judge(records).rank)


def of_launchers() -> Iterator[tuple[str, Any]]:
    """A launcher that failed without a rank: as its node says, as the head does, and where its run did not start."""
    peer = {"node": "node1", "node_rank": 1, "phase": "failed", "ended": "2026-11-20T14:30:52Z"}
    why = "the launcher exited with code 1: Connection reset by peer (NCCL)"
    for likeness in (None, Likeness.OWN, Likeness.PEER):
        report = {"phase": "failed", "why": why, "likeness": likeness}
        yield f"launcher {likeness}", of_failures([{**peer, **report}, {**peer, "node": "node2", "why": "x"}])
        gang = {"attempt": 0, "reports": [{"node": "node1", "attempt": 0, **report}]}
        head = {**peer, "node": "node0", "node_rank": 0, "why": why, "likeness": 3, "gang": gang}
        end = {"verdict": "failed", "why": why, "node": "node1"}
        yield f"reported {likeness}", of_failures([{**head, "end": end}, {"node": "node1", "phase": "unreachable"}])
        starts = [
            ("node0", {"failed": True, "why": why, "likeness": likeness}),
            ("node1", {"failed": True, "why": "x"}),
        ]
        _why, lines = not_started(read_infos(starts), None)
        yield f"start {likeness}", [line.partition(":")[0] for line in lines]


def of_memory(directory: Path) -> Any:
    """A rank that the kernel killed beside one that failed, from the count of its kills to the cause."""
    count = directory / "memory.events"
    count.write_text("oom_kill 3\n")
    kernel = KernelMemory()
    count.write_text("oom_kill 4\n")
    detail, killed = kernel.explain(), RankFailure(rank=1, signal="SIGKILL", time=2.0)
    kernel.close()
    assert detail
    failures = launcher_failure.blame_memory([RankFailure(rank=0, exit_code=1, time=1.0), killed], 1, detail)
    judged = likeliest_first(judge_rank(failure, failures) for failure in failures)
    return of_failures([{"node": "node0", "phase": "failed", "failures": [failure.to_dict() for failure in judged]}])


def of_host_keys() -> Any:
    """The hosts that are refused: by a socket's error, without an answer, with another key, behind a jump host."""
    errors: dict[str, OSError | UnicodeError] = {
        "closed": ConnectionRefusedError(errno.ECONNREFUSED, "x"),
        "nameless": UnicodeError("x"),
    }
    names = [*errors, "mute", "changed", "behind"]
    hosts = [
        Endpoint(Target(name, name=name), name, 22, None, name, error=errors.get(name), scanned=name != "behind")
        for name in names
    ]
    known, offered = HostKey("changed", "ssh-ed25519", "AAAA"), HostKey("changed", "ssh-ed25519", "BBBB")
    return of_findings(list(refuse(hosts, [known], {"changed": [offered]}, "known_hosts.txt").values()))


def breaks(change: str) -> Callable[[Facts], object]:
    """A change of a healthy node's facts."""

    def sudo(facts: Facts) -> None:
        facts["node"]["engine"].update(running=None, version=None, why="sudo: a password is required", denied=True)

    def disk(facts: Facts) -> None:
        for disk in facts["node"]["disks"]:
            disk.update(writable=False, write_error="no space")

    def gpu(facts: Facts) -> None:
        facts["gpu"]["devices"] = facts["gpu"]["devices"][:-1]
        facts["gpu"]["count"] = len(facts["gpu"]["devices"])

    def ports(facts: Facts) -> None:
        for hca in facts["rdma"]["hcas"]:
            for port in hca["ports"]:
                port.update(state="DOWN", phys_state="Disabled")

    return {"sudo": sudo, "disk": disk, "gpu": gpu, "ports": ports}[change]


def decisions(directory: Path) -> Iterator[tuple[str, Any]]:
    """Everything that is decided here: statuses, environments, plans, layers and exit codes."""
    docker = ClusterPolicy(runtime="docker", docker=["sudo", "-n", "docker"])
    for name in NAMES:
        for mode in ("auto", "rdma", "tcp") if name == "hgx_h100" else ("auto",):
            yield f"{name} {mode}", of_report(report(name, mode=mode, env={"NCCL_IB_DISABLE": "1"}))
    for change in ("sudo", "disk", "gpu", "ports"):
        for expected in ({}, {GPU_COUNT.key: 8}):
            preflight_report = report("hgx_h100", breaks(change), policy=docker, expected=expected)
            yield f"hgx_h100 {change} {expected}", of_report(preflight_report)
    layers = ("extra_vars", "environment", "earlier", "cluster", "default")
    node_env = {"NCCL_MIN_NCHANNELS": "8", "NCCL_MAX_NCHANNELS": 8, "NCCL_DEBUG": "TRACE"}
    for layer in layers:
        channels = {"value": 42, "origin": "somewhere", "layer": layer}
        env = {"value": {"NCCL_MAX_NCHANNELS": "7"}, "origin": "somewhere", "layer": layer}
        on = [plan_parts.node(0, env=node_env), plan_parts.node(1)]
        yield f"plan {layer}", of_plan(2, on, channels=channels, env=env)
    yield "plan rdma", of_plan(mode="rdma")
    yield "plan nproc", of_plan(nproc=3)
    first: list[Refusal] = []
    given = resolve_parameters("launch", {"channels": 42, "label": "a"}, {"THREADS": "256"}, DEFAULTS, first)
    yield "settings", (without_words(given), [refusal.name for refusal in first])
    refusals: list[Refusal] = []
    again = resolve_parameters(
        "launch", {"threads": "x", "nonsense": 1}, {}, {"mode": "?", "nope": 1}, refusals, {"parameters": given}
    )
    third = resolve_parameters("launch", {}, {}, DEFAULTS, refusals, {"parameters": again})
    yield "launched again", (without_words(again), without_words(third), [refusal.name for refusal in refusals])
    settings, faults = standing({"mode": "?", "channels": -1})
    yield "standing", (without_words(settings), of_findings(faults))
    yield from of_verdicts()
    yield from of_launchers()
    yield "memory", of_memory(directory)
    yield "host keys", of_host_keys()
    text = experiment.dump({"parameters": {name: dict(setting) for name, setting in given.items()}})
    yield "listed", summarize("run", text).parameters


@pytest.mark.slow
def test_other_words_decide_nothing(monkeypatch: pytest.MonkeyPatch, restored: None, tmp_path: Path) -> None:
    for name, text in (("CGROUPS", "0::/\n"), ("MOUNTS", f"32 25 0:28 / {tmp_path} rw - cgroup2 cgroup2 rw\n")):
        (tmp_path / name).write_text(text)
        monkeypatch.setattr(memory, name, str(tmp_path / name))
    expected = dict(decisions(tmp_path))
    reword_all(monkeypatch)
    answers = dict(decisions(tmp_path))
    assert Finding("c", "n", "fail", "seen", "", "from", "do").observed != "seen"
    assert {name: answers[name] for name in answers if answers[name] != expected[name]} == {}
