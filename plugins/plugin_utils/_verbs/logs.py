# SPDX-License-Identifier: GPL-3.0-or-later
"""`logs`: the last lines of a run's ranks from all nodes, merged by time, or each line as it is written.

After the steps of `find`, in which each node has read its last lines, `report` shows them. With follow=true it names
the nodes whose logs the action `run_log_stream` then reads until the run has ended.
"""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._findings.errors import UserError
from .._results import documents, unanswered
from .._results.report import log_lines, no_such_rank
from .._results.verdict import may_have
from .find import chosen, infos_of
from .overview import Overview
from .step import Conclude, Conclusion, Play


@Conclude
def report(play: Play) -> Conclusion:
    """Show the lines, or choose the nodes that are followed."""
    overview = Overview.of(play, chosen(play)["run_id"], infos_of(play))
    if wrong := no_such_rank(overview.runs, play.request["parameters"].get("rank")):
        raise UserError(clean(wrong))
    missing, asked = unanswered.lines(overview.infos), play.parameters
    if asked["follow"]:
        followed = _followed(play, overview)
        return Conclusion(lines=missing, result={"followed": followed}, failure=_refusal(play, followed))
    limit, node, rank, pattern = (asked[name] for name in ("lines", "node", "rank", "grep"))
    of = "".join(f" of {name} {asked[name]}" for name in ("node", "rank", "grep") if asked[name] is not None)
    return Conclusion(
        lines=[*(log_lines(overview.infos, limit, node, rank, pattern) or [clean(f"no log lines{of}")]), *missing],
        document=documents.of_logs(overview.run_id, overview.infos, limit, node, rank),
    )


def _followed(play: Play, overview: Overview) -> dict[str, str | None]:
    """Return the nodes whose logs are followed, with the run's directory there."""
    node, rank = play.parameters["node"], play.parameters["rank"]
    return {
        info.node: info.run.run_dir
        for info in overview.infos
        if info.answered
        and info.run.run_dir
        and node in (None, info.node)
        and (rank is None or may_have(info.run, rank))
    }


def _refusal(play: Play, followed: Mapping[str, object]) -> UserError | None:
    """Return why the nodes cannot be followed; each needs a fork of Ansible."""
    count = len(followed)
    if not count:
        return UserError("no node that answers has the logs that were asked for: `status` shows the nodes")
    if count <= play.forks:
        return None
    return UserError(
        f"follow: expected at most {play.forks} nodes, as many as Ansible has forks, saw {count}; give -f {count}, or "
        "choose with -e rank=N or -e node=NAME"
    )
