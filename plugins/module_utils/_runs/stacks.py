# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python stacks of a run's ranks on this node; of ranks in a container, from inside it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from .._host.host import Host
from .._records.known import parse_json
from .._records.run import RunRecord
from .._records.stacks import RankStacks
from ..runner.stacks.take import take_stacks
from . import job_container
from .job_container import EngineError

# Enough for py-spy, then for the ranks, and the start of Docker's command.
INSIDE_S = 30.0


def stacks_of(
    host: Host, run: RunRecord, docker: Sequence[str], python: str, rank: int | None = None
) -> list[RankStacks]:
    """Return the stacks of each rank of a living run here, or of one; raise EngineError where its container fails.

    python is the training interpreter, in the container if there is one; it and docker are the controller's word.
    """
    if not run.alive or run.run_dir is None:
        return []
    container = job_container.recorded(host, run.run_dir, docker)
    if container is None:
        return take_stacks(str(run.run_id), run.run_dir, python, rank)
    state = job_container.look(host, container)
    if state is None or not state.running or not job_container.ours(state, run.run_dir):
        raise EngineError(f"its container {container.name} does not run")
    archive = os.path.join(run.run_dir, "runner.pyz")
    inside = [python, archive, run.run_dir, str(run.nonce), "stacks", *([] if rank is None else [str(rank)])]
    result = host.run([*docker, "exec", container.name, *inside], timeout=INSIDE_S)
    if result.rc != 0:
        raise EngineError(f"docker exec {container.name}: {result.why(INSIDE_S)}")
    return RankStacks.several(parse_json(result.out))
