# SPDX-License-Identifier: GPL-3.0-or-later
"""`teardown`: the files of ended runs, the compose project and the firewall's rules go from every node.

The roles `container` and `firewall` remove their own; `prune` and `report` are about the runs.
"""

from __future__ import annotations

import time
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict

from .._findings.errors import ReportedError
from .._setup.teardown import answer, document, lines
from .._text.plain import plain
from .._text.table import node_names
from .find import launch_policy
from .step import Conclude, Conclusion, Play, ask


@ask("run_prune")
def prune(play: Play, node: str) -> dict[str, Any]:
    """Remove the files of ended runs, with `days` of those that ended so many days ago."""
    policy, days = launch_policy(play, ("launch_workdir", "launch_docker")), play.parameters["days"]
    return {
        "workdir": policy["launch_workdir"],
        "node": node,
        "docker": policy["launch_docker"],
        "controller_time": int(time.time()),
        **({} if days is None else {"days": days}),
    }


@Conclude
def report(play: Play) -> Conclusion:
    """Show what was removed, and fail if something could not be."""
    removed = [answer(node, plain(play.read_answer(node, "launch__pruned"))) for node in play.request["nodes"]]
    if as_dict(play.read_answer("localhost", "launch__request")).get("changes_pods"):
        # A pod that does not answer, such as one that never started, goes with all that is in it.
        removed = [answer for answer in removed if answer.result is not None]
    failed = [answer.node for answer in removed if answer.failed]
    missed = "it is not known what would be removed" if play.is_checked else "not everything was removed"
    return Conclusion(
        lines=["", *lines(removed, play.is_checked, play.width), ""],
        document=document(removed, play.is_checked),
        failure=ReportedError(f"{node_names(failed)}: {missed}, see above; fix it and run teardown again")
        if failed
        else None,
    )
