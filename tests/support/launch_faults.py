# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of who answers, of the code, and of what starts a run."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import ClusterPolicy
from ansible_collections.muster.train.tests.support.faults import (
    AMD,
    CPU,
    IB,
    NO_HOST_KEY,
    Fault,
    a_user_in_an_open_directory,
    missing_file,
    node,
    put,
    root_in_a_foreign_directory,
    session,
)
from ansible_collections.muster.train.tests.support.preflight_parts import Facts

MINE = {"pid": 77, "uid": 0, "command": "python", "run_id": "multinode_1ch_1th_20261101_000000"}
SCRIPT = {"path": "/h/code/train.py"}
RUNNER = {"run_id": "multinode_2ch_2th_20261102_000000", "nonce": None, "node": "node1", "pid": 9, "since": None}


def profiled(facts: Facts) -> None:
    if not facts["node"]["profiler"]:
        facts["node"]["profiler"] = {"path": "/opt/rocm/bin/rocprofv3", "version": "1.1.0"}


def with_accelerate(facts: Facts) -> None:
    facts["node"]["versions"].setdefault("accelerate", "1.15.0")


STARTS = [
    # Who answers, and who it is
    Fault("unreachable host", IB, "answer", "error", options=lambda: {"silent": "timed out"}),
    Fault("host key not known", CPU, "answer", "error", options=lambda: {"silent": NO_HOST_KEY}),
    Fault("the same machine twice", CPU, "node", change=put("workdir", identity="machine0")),
    Fault("one address twice", CPU, "node", options=lambda: {"addresses": ("10.0.0.1", "10.0.0.1")}),
    Fault("work directory not writable", CPU, "work directory", change=put("workdir", writable=False)),
    Fault("work directory without locks", CPU, "work directory", change=put("workdir", flock=False)),
    Fault(
        "root in another user's directory",
        CPU,
        "work directory path",
        change=root_in_a_foreign_directory,
    ),
    Fault(
        "a directory that all can write",
        CPU,
        "work directory path",
        "warn",
        change=a_user_in_an_open_directory,
    ),
    # The code
    Fault("wrong commit", CPU, "code", change=put("code", commit="b" * 40)),
    Fault("wrong branch", CPU, "code", change=put("code", branch="wip", commit="b" * 40)),
    Fault("another branch at the same commit", CPU, "code", change=put("code", branch="wip")),
    Fault("dirty tree", CPU, "code", change=put("code", dirty=True, changes="c" * 64)),
    Fault("not the profile's commit", CPU, "code", node=None, options=lambda: {"expected": {"commit": "d" * 12}}),
    Fault("no checkout", CPU, "code", change=put("code", commit=None, branch=None, dirty=None, source=None)),
    Fault(
        "a checkout that git does not trust",
        CPU,
        "code",
        "error",
        change=put("code", commit=None, branch=None, dirty=None, source=None, why="git does not trust it"),
    ),
    Fault("changes that could not be looked for", CPU, "code", "error", change=put("code", dirty=None, why="too slow")),
    Fault("no code", CPU, "code directory", change=put("code", exists=False, commit=None, branch=None, dirty=None)),
    Fault(
        "another script", CPU, "files", change=lambda facts: facts["node"]["files"]["train.py"].update(sha256="2" * 64)
    ),
    Fault("no script", CPU, "files", change=missing_file),
    Fault("a script with a fault", CPU, "script", change=node(script={**SCRIPT, "line": 3, "fault": "invalid syntax"})),
    Fault("a missing module", CPU, "script", change=node(script={**SCRIPT, "missing": ["lightning"]})),
    Fault("missing modules", CPU, "script", change=node(script={**SCRIPT, "missing": ["lightning", "peft"]})),
    Fault("a script not read", CPU, "script", "error", change=node(script={**SCRIPT, "why": "no answer within 8 s"})),
    # What starts
    Fault("no interpreter", CPU, "python interpreter", change=put("python", path=None)),
    Fault("no torch", CPU, "torch installed", change=put("versions", torch=None)),
    Fault(
        "no accelerate",
        CPU,
        "launcher installed",
        change=put("versions", accelerate=None),
        options=lambda: {"both": with_accelerate, "launcher": "accelerate"},
    ),
    Fault("other torch", IB, "torch", change=put("versions", torch="2.5.1")),
    Fault("other NCCL", IB, "nccl", change=put("versions", nccl="2.21.5")),
    Fault("other Python", CPU, "python", "warn", change=put("versions", python="3.12.1")),
    Fault(
        "no profiler",
        AMD,
        "profiler",
        change=node(profiler={"path": None}),
        options=lambda: {"both": profiled, "profiler": "rocprof"},
    ),
    Fault(
        "a profiler that could not be looked for",
        AMD,
        "profiler",
        "error",
        change=node(profiler={"path": None, "why": "no answer"}),
        options=lambda: {"both": profiled, "profiler": "rocprof"},
    ),
    Fault(
        "a profiler of other GPUs", AMD, "profiler", node=None, options=lambda: {"both": profiled, "profiler": "nsys"}
    ),
    Fault(
        "no linger for systemd",
        CPU,
        "starter",
        change=lambda facts: facts["node"].update(
            user={"name": "ann", "uid": 1000, "home": "/h"}, systemd={"booted": True, "linger": False}
        ),
        options=lambda: {"policy": ClusterPolicy(starter="systemd")},
    ),
    Fault("logind ends sessions", CPU, "logout", change=session("kill_user_processes")),
    Fault("logind removes IPC", CPU, "shared memory", "warn", change=session("remove_ipc")),
    Fault("slot held", CPU, "slot", change=node(holder=RUNNER)),
    Fault("leftovers of a run", CPU, "leftovers", "warn", change=put("processes", runs=[MINE])),
    Fault(
        "hung process",
        IB,
        "hung",
        change=put("processes", hung=[{"pid": 5, "command": "nvidia-smi", "wait": "os_acquire"}]),
    ),
    Fault(
        "no sudo",
        CPU,
        "sudo",
        "warn",
        change=node(user={"name": "ann", "uid": 1000, "home": "/h"}, sudo={"passwordless": False, "why": None}),
    ),
]
