# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `run_log_stream`: each worker reads the new log lines of its node; that of the first node prints all."""

from __future__ import annotations

import contextlib
import mmap
import multiprocessing
import os
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleConnectionFailure

from ansible_collections.muster.train.plugins.module_utils._records.known import parse_json
from ansible_collections.muster.train.plugins.module_utils._records.layout import HEARTBEAT, STATE
from ansible_collections.muster.train.plugins.module_utils._records.phases import ENDED
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.plugin_utils._action.base import Action
from ansible_collections.muster.train.plugins.plugin_utils._action.interrupt import Interrupt
from ansible_collections.muster.train.plugins.plugin_utils._action.screen import (
    print_after_interrupt,
    print_line,
    show,
)
from ansible_collections.muster.train.plugins.plugin_utils._request.hints import command
from ansible_collections.muster.train.plugins.plugin_utils._results.grep import Grep
from ansible_collections.muster.train.plugins.plugin_utils._results.log_frames import parse_news, read_news
from ansible_collections.muster.train.plugins.plugin_utils._results.log_stream import (
    GrowingLogs,
    LogLine,
    Merger,
    Page,
    most_bytes,
    names_of,
)
from ansible_collections.muster.train.plugins.plugin_utils._text.table import one_line

OPTIONS = {
    "run_dir": {"type": "str", "required": True},
    "workdir": {"type": "str", "required": True},
    "run_id": {"type": "str", "required": True},
    "node": {"type": "str", "required": True},
    "nodes": {"type": "list", "elements": "str", "required": True},
    "docker": {"type": "list", "elements": "str", "default": ["docker"]},
    "request": {"type": "dict", "default": {}},
    "lines": {"type": "int", "default": 50},
    "rank": {"type": "int"},
    "grep": {"type": "str"},
}
POLL_S = 0.7
LOOK_S = 0.05
# The runner writes a heartbeat every second: if it is this old, the module says whether the runner lives.
SILENT_AFTER_S = 20.0
# When all others have ended, a node that does not answer is waited for so long.
GIVE_UP_AFTER_S = 20.0
# Lines that are printed at once: each print is a message to the controller's main process.
LINES_AT_ONCE = 500

INTERRUPT = Interrupt()
# Made in the controller, before the workers are forked: (node, lines, note, end). A full pipe makes the workers wait.
MESSAGES: multiprocessing.queues.SimpleQueue[tuple[str, list[LogLine], str | None, str | None]] = (
    multiprocessing.get_context("fork").SimpleQueue()
)
# Whether the printer has finished, after which the messages are not read.
FINISHED = mmap.mmap(-1, 1)


class ActionModule(Action):
    """Follow the logs of one node until the run ends there, or the user interrupts."""

    OPTIONS = OPTIONS
    _clock: Callable[[], float] = staticmethod(time.monotonic)

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        if self._task.check_mode or args["node"] not in args["nodes"]:
            return {}
        if args["node"] != args["nodes"][0]:
            self._stream(args, variables)
            return {"interrupted": INTERRUPT.pressed}
        FINISHED[0] = False
        with INTERRUPT.awaited():
            printer = threading.Thread(target=self._print_until_end, args=(args,), daemon=True)
            printer.start()
            try:
                self._stream(args, variables)
            finally:
                printer.join()
        return {"interrupted": INTERRUPT.pressed}

    # -- the reader of a node ------------------------------------------------------------------------------------

    def _stream(self, args: dict[str, Any], variables: dict[str, Any]) -> None:
        node = args["node"]
        end = "unknown"
        try:
            end = self._read_until_end(args, variables)
        finally:
            MESSAGES.put((node, [], None, end))

    def _read_until_end(self, args: dict[str, Any], variables: dict[str, Any]) -> str:
        node, logs = args["node"], GrowingLogs(args["node"], Grep(args["grep"]))
        moved, documents, is_away = self._clock(), [""], False
        while not INTERRUPT.pressed and not FINISHED[0]:
            began = self._clock()
            try:
                news = self._read(args, logs)
            except AnsibleConnectionFailure as error:
                if not is_away:
                    silence = f"{node} does not answer: {one_line(error)}; its lines follow when it does"
                    MESSAGES.put((node, [], silence, None))
                is_away = True
                self._wait(began)
                continue
            note = f"{node} answers again" if is_away else None
            is_away = False
            if news is not None:
                lines = logs.take(news.parts)
                MESSAGES.put((node, lines, note, None))
                run = RunRecord.from_dict(parse_json(news.documents[0]))
                if run.phase in ENDED:
                    verdict = run.end.verdict if run.end else None
                    return str(verdict or run.phase)
                if news.documents != documents:
                    moved, documents = self._clock(), news.documents
            if self._clock() - moved > SILENT_AFTER_S:
                if phase := self._ask(args, variables):
                    return phase
                moved = self._clock()
            self._wait(began)
        return "interrupted"

    def _read(self, args: dict[str, Any], logs: GrowingLogs) -> Any:
        marker = secrets.token_hex(16)
        documents = [os.path.join(args["run_dir"], name) for name in (STATE, HEARTBEAT)]
        most = most_bytes(len(args["nodes"]), len(logs.positions))
        folder = os.path.join(args["run_dir"], "logs")
        words = read_news(marker, documents, folder, names_of(args["rank"]), most, logs.positions)
        return parse_news(self._low_level_execute_command(words, sudoable=True).get("stdout", ""), marker)

    def _ask(self, args: dict[str, Any], variables: dict[str, Any]) -> str | None:
        """Return how the run has ended on a node whose runner writes nothing; None while it is alive or not known."""
        asked = {key: args[key] for key in ("workdir", "run_id", "node", "docker")}
        with contextlib.suppress(AnsibleConnectionFailure):
            answer = self._execute_module("muster.train.run_info", asked, task_vars=variables)
            run = RunRecord.from_dict(answer.get("run"))
            if not answer.get("failed") and not run.alive:
                return str(run.phase)
        return None

    def _wait(self, began: float) -> None:
        until = began + POLL_S
        while self._clock() < until and not INTERRUPT.pressed and not FINISHED[0]:
            time.sleep(LOOK_S)

    # -- the printer ---------------------------------------------------------------------------------------------

    def _print_until_end(self, args: dict[str, Any]) -> None:
        try:
            ends = self._print(args)
        finally:
            FINISHED[0] = True
        run_id, call = args["run_id"], args["request"].get("call")
        if INTERRUPT.pressed:
            print_after_interrupt("the logs are followed no more; the run goes on")
            show([f"follow them again: {command('logs', run_id, call)} -e follow=true"])
        else:
            verdict = next(iter(ends.values()), "unknown")
            show([f"{run_id} {verdict}: {command('status', run_id, call)}"])

    def _print(self, args: dict[str, Any]) -> dict[str, str]:
        """Print the lines of all nodes until each has ended; return how."""
        merger, page = Merger(args["nodes"], args["lines"]), Page()
        ends: dict[str, str] = {}
        heard = self._clock()
        while len(ends) < len(args["nodes"]) and not INTERRUPT.pressed:
            if MESSAGES.empty():
                if ends and self._clock() - heard > GIVE_UP_AFTER_S:
                    missing = [node for node in args["nodes"] if node not in ends]
                    show([f"{', '.join(missing)}: no answer since the run has ended on the other nodes"])
                    break
                time.sleep(LOOK_S)
            else:
                heard = self._clock()
                node, lines, note, end = MESSAGES.get()
                if note:
                    show([note])
                if end:
                    ends[node] = end
                if end or (note and not lines):
                    merger.forget(node)
                else:
                    merger.add(node, lines)
            _print_at_once(page.text(merger.due()))
        if not INTERRUPT.pressed:
            _print_at_once(page.text(merger.due(at_end=True)))
        return ends


def _print_at_once(lines: list[str]) -> None:
    for at in range(0, len(lines), LINES_AT_ONCE):
        print_line("\n".join(lines[at : at + LINES_AT_ONCE]))
