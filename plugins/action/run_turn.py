# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `run_turn`: asks one node every few seconds until the turn of a launch has come there."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleConnectionFailure

from ansible_collections.muster.train.plugins.module_utils._text.stamps import seconds_of
from ansible_collections.muster.train.plugins.plugin_utils._action.base import Action
from ansible_collections.muster.train.plugins.plugin_utils._action.interrupt import Interrupt
from ansible_collections.muster.train.plugins.plugin_utils._action.screen import ProgressLine
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import PlanError
from ansible_collections.muster.train.plugins.plugin_utils._findings.invocation import Invocation
from ansible_collections.muster.train.plugins.plugin_utils._request.settings import values
from ansible_collections.muster.train.plugins.plugin_utils._results.turn import Queue

INTERRUPT = Interrupt()
OPTIONS = {
    "node": {"type": "str", "required": True},
    "request": {"type": "dict", "required": True},
    "round": {"type": "int", "default": 120},
    "turn": {"type": "dict"},
}
PLACE = ("launch_workdir", "launch_slot")
TIME_IS_OVER, INTERRUPTED = "time", "interrupted"
POLL_S = 3.0


class ActionModule(Action):
    """Wait on one node, for a round at most; with the turn that ended the wait, fail with the reason."""

    BYPASS_HOST_LOOP = True
    OPTIONS = OPTIONS
    # Tests replace the clocks.
    _clock: Callable[[], float] = staticmethod(time.time)
    _pause: Callable[[float], None] = staticmethod(time.sleep)

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        node, request, turn = args["node"], args["request"], args["turn"]
        place = self.task_values(PLACE, variables) | self.host_values(node, PLACE, variables)
        slot = str(place["launch_slot"])
        if turn is not None:
            raise self._why(turn, Queue(node, slot, turn.get("answer") or {}), request)
        ticket = {"workdir": place["launch_workdir"], "node": node, "slot": slot}
        ticket.update({key: request[key] for key in ("run_id", "nonce", "created")})
        began = self._clock()
        deadline = (seconds_of(request["created"]) or began) + values(request)["wait"]
        line = ProgressLine(self._clock)
        with INTERRUPT.awaited():
            while self._clock() < began + args["round"]:
                answer = self._ask(ticket, variables)
                queue, left = Queue(node, slot, answer), deadline - self._clock()
                if INTERRUPT.pressed:
                    return {"ended": INTERRUPTED}
                if queue.has_come:
                    return {"ended": None}
                if left <= 0:
                    return {"ended": TIME_IS_OVER, "answer": answer}
                line.draw(queue.text(left), queue.text(), last=False)
                self._pause(min(POLL_S, left))
        return {"ended": None, "answer": answer}

    def _why(self, turn: Mapping[str, Any], queue: Queue, request: Mapping[str, Any]) -> UserError:
        """Return why nothing was started."""
        if turn.get("ended") == INTERRUPTED:
            return UserError(f"{request['run_id']} has left the queue; nothing was started")
        return PlanError([queue.finding(values(request)["wait"], Invocation.of(request))])

    def _ask(self, ticket: Mapping[str, Any], variables: dict[str, Any]) -> Mapping[str, Any]:
        """Return a node's answer, or why there is none."""
        try:
            answer: dict[str, Any] = self._execute_module("muster.train.run_queue", dict(ticket), task_vars=variables)
        except AnsibleConnectionFailure as error:
            return {"unreachable": True, "msg": str(error)}
        return answer
