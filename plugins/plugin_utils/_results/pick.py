# SPDX-License-Identifier: GPL-3.0-or-later
"""Which run a verb works on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.hidden import HiddenRuns
from ansible_collections.muster.train.plugins.module_utils._records.job import SAFE_RUN_ID
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._findings.errors import UserError
from .._request.hints import command
from .._text.table import node_names
from . import unanswered
from .infos import Info

# Number of runs that are suggested in place of one that does not exist.
NEWEST = 5


class NoRun(UserError):
    """There is no such run; the one line says where it was searched and what to do."""

    def __init__(self, text: str) -> None:
        super().__init__(clean(text))


class NoAnswer(NoRun):
    """No node answered: a line says so, and one for each of the first reasons says why, and what to do."""

    def __init__(self, infos: Sequence[Info]) -> None:
        UserError.__init__(self, "\n".join(["no node answered", *unanswered.lines(infos)]))


def pick(
    infos: Sequence[Info],
    requested: str | None,
    call: str | None,
    workdirs: Mapping[str, str],
    verb: str | None = None,
) -> str:
    """Return the requested run, or the newest on any node; raise NoRun when no node knows it.

    A stop prefers the newest active run: a launch that lost a race is newer than its winner, and ended.
    `call` is how commands are called here, `workdirs` has the nodes' known work directories.
    """
    silent = [info.node for info in infos if not info.answered]
    searched = [f"{info.node}:{workdirs.get(info.node, '')}".rstrip(":") for info in infos if info.answered]
    if not searched:
        raise NoAnswer(infos)
    created: dict[str, str] = {}
    alive = set()
    for run in (run for info in infos for run in info.runs if SAFE_RUN_ID.fullmatch(run.run_id or "")):
        run_id = str(run.run_id)
        created[run_id] = max(run.created or "", created.get(run_id, ""))
        if verb == "stop" and run.alive:
            alive.add(run_id)
    newest = sorted(created, key=lambda run_id: (created[run_id], run_id), reverse=True)
    if requested is None and newest:
        return next((run_id for run_id in newest if run_id in alive), newest[0])
    if requested is not None and requested in created:
        return requested
    what = f"no run {requested} on any node" if requested else "no run on any node"
    if verb == "stop":
        what = f"nothing to stop: no node knows {requested or 'a run'}"
    hidden: dict[HiddenRuns, list[str]] = {}
    for info in infos:
        if info.hidden is not None:
            hidden.setdefault(info.hidden, []).append(info.node)
    if hidden:
        missing = f"{requested} was not found" if requested else "no run was found that this user can read"
        raise NoRun("; ".join([missing, *(_hidden(*item) for item in hidden.items())]))
    where = f"searched {node_names(searched)}" + (f"; no answer from {node_names(silent)}" if silent else "")
    if newest:
        raise NoRun(f"{what} ({where}); the newest are: {', '.join(newest[:NEWEST])}")
    raise NoRun(f"{what} ({where}); to start one: {command('launch', None, call)}")


def _hidden(hidden: HiddenRuns, nodes: Sequence[str]) -> str:
    return (
        f"{node_names(nodes)}: {hidden.describe()}: run the command as {hidden.owner}, or set launch_workdir to the "
        "work directory of your own runs"
    )
