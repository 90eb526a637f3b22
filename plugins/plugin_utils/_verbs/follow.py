# SPDX-License-Identifier: GPL-3.0-or-later
"""`follow`: a run on its head until it ends, and then the same steps as those of `collect`.

After the steps of `find`, `find_head` says where the head has the run. The action `run_follow` reads it there.
"""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._findings.errors import UserError
from .._results import unanswered
from .find import infos_of, subject
from .step import Conclude, Conclusion, Play


@Conclude
def find_head(play: Play) -> Conclusion:
    """Return where the head has the run; fail if it does not answer, or does not have it."""
    run_id, head = subject(play)
    [info] = infos_of(play, nodes=[head])
    if info.run.run_dir and info.run.phase != "not_found":
        return Conclusion(result={"run_dir": info.run.run_dir})
    others = "`status` shows the other nodes"
    if info.answered:
        raise UserError(clean(f"the head {head} does not have run {run_id}: {others}"))
    raise UserError("\n".join([*unanswered.lines([info]), clean(f"a run is followed on its head, {head}; {others}")]))
