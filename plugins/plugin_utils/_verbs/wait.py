# SPDX-License-Identifier: GPL-3.0-or-later
"""`launch -e wait=TIME`: a launch waits until it gets the slot of every node, in the order in which launches began.

Every node keeps a ticket of the launch: `queue`. While the turn has not come on one of them (`choose_node`), that node
is asked every few seconds: `await_turn`. After a round, all are asked again, which renews the tickets. When the time is
over, or on Ctrl-C, the launch leaves the queue everywhere (`leave`), and the reason is reported (`refuse`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict
from ansible_collections.muster.train.plugins.module_utils._text.stamps import seconds_of

from .._action.interrupt import Interrupt
from .._action.screen import ProgressLine
from .._findings.errors import UserError
from .._findings.finding import PlanError
from .._findings.invocation import Invocation
from .._results.slot_queue import Queue
from .find import launch_policy, patience_s, shared_answer
from .step import Conclude, Conclusion, Play, ask

QUEUE, WAITING, TURN = "launch__queue", "launch__waiting", "launch__turn"  # as the role registers them
PLACE = ("launch_workdir", "launch_slot")
TIME_IS_OVER, INTERRUPTED = "time", "interrupted"
ROUND_S, POLL_S = 120, 3.0


@ask("run_queue", patience_s)
def queue(play: Play, node: str) -> dict[str, Any]:
    """Queue on a node, or renew the ticket there."""
    return _ticket(play, node, launch_policy(play, PLACE))


@Conclude
def choose_node(play: Play) -> Conclusion:
    """Choose a node where the turn has not come, if there is one; a node that does not answer is left to the plan."""
    answers = {node: as_dict(play.read_answer(node, QUEUE)) for node in play.hosts}
    node = next((node for node, answer in answers.items() if answer.get("admitted") is False), None)
    # A round ends sooner where the turn comes on one node after the other.
    rounds = play.parameters["wait"] // ROUND_S + len(play.hosts) + 9
    return Conclusion(result={"node": node, "rounds": rounds})


@Conclude
def await_turn(play: Play) -> Conclusion:
    """Ask the chosen node, to which the task is delegated, until the turn has come; for a round at most.

    ended says why the wait is over, None if it is not.
    """
    node, place = _waiting(play)
    ticket, began, line = _ticket(play, node, place), time.time(), ProgressLine(time.time)
    deadline = (seconds_of(play.request["created"]) or began) + play.parameters["wait"]
    interrupt, answer = play.interrupt or Interrupt(), None
    with interrupt.awaited():
        while time.time() < began + ROUND_S:
            answer = play.host.run_module("run_queue", ticket)
            state, left_s = Queue(node, place["launch_slot"], answer), deadline - time.time()
            if interrupt.pressed:
                return Conclusion(result={"ended": INTERRUPTED})
            if state.admitted:
                break
            if left_s <= 0:
                return Conclusion(result={"ended": TIME_IS_OVER, "answer": answer})
            line.draw(state.text(left_s), state.text(), last=False)
            play.pause(min(POLL_S, left_s))
    return Conclusion(result={"ended": None, "answer": answer})


@ask("run_queue", patience_s)
def leave(play: Play, node: str) -> dict[str, Any]:
    """Leave the queue on a node; a ticket that stays there expires."""
    return {**_ticket(play, node, launch_policy(play, PLACE)), "leave": True}


@Conclude
def refuse(play: Play) -> Conclusion:
    """Report why nothing was started."""
    turn, request = shared_answer(play, TURN), play.request
    if turn["ended"] == INTERRUPTED:
        return Conclusion(failure=UserError(f"{request['run_id']} has left the queue; nothing was started"))
    node, place = _waiting(play)
    # Without an end, all rounds are over, and all nodes have just been asked.
    answer = turn["answer"] if turn["ended"] else play.read_answer(node, QUEUE)
    finding = Queue(node, place["launch_slot"], answer).finding(play.parameters["wait"], Invocation.of(request))
    return Conclusion(failure=PlanError([finding]))


def _waiting(play: Play) -> tuple[str, dict[str, Any]]:
    """Return the chosen node, and where its queue is: the task's host is another one."""
    node = str(shared_answer(play, WAITING)["node"])
    return node, {**launch_policy(play, PLACE), **play.read_values(node, PLACE)}


def _ticket(play: Play, node: str, place: Mapping[str, Any]) -> dict[str, Any]:
    launch = {name: play.request[name] for name in ("run_id", "nonce", "created")}
    return {"workdir": place["launch_workdir"], "node": node, "slot": place["launch_slot"], **launch}
