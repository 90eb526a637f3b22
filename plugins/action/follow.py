# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's half of `follow`: ask the head once a second, by a raw read, and draw one line."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import time
from typing import Any

from ansible.errors import (
    AnsibleActionFail,
    AnsibleConnectionFailure,
    AnsiblePromptInterrupt,
    AnsiblePromptNoninteractive,
)
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.muster.train.plugins.plugin_utils._hints import hints
from ansible_collections.muster.train.plugins.plugin_utils._progress_line import Sample, progress_line
from ansible_collections.muster.train.plugins.plugin_utils._table import aligned, clean

display = Display()

# A worker has no terminal of its own; what the user has is what it was when Ansible imported this file.
ON_TERMINAL = sys.stdout.isatty() and sys.stdin.isatty()
# A longer line would go on in the next, and drawing over it would miss its beginning.
WIDEST = shutil.get_terminal_size().columns - 1

ENDED = ("succeeded", "failed", "stopped", "lost")
POLL_S = 1
PLAIN_EVERY_S = 5.0
# The runner beats every second: a counter that stands still this long means that nobody is there.
SILENT_AFTER_S = 20.0
OUT_OF_REACH_AFTER_S = 60.0


class ActionModule(ActionBase):
    """Follow one run on the head until it ends, the user interrupts, or the runner falls silent."""

    BYPASS_HOST_LOOP = True
    TRANSFERS_FILES = False
    _requires_connection = True
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _spec, args = self.validate_argument_spec(
            {"run_dir": {"type": "str", "required": True}, "request": {"type": "dict", "default": {}}}
        )
        if self._task.check_mode:
            return {**result, "changed": False, "ended": False, "phase": None, "interrupted": False}
        followed = self._follow(args["run_dir"])
        if followed["interrupted"]:
            run_id = os.path.basename(args["run_dir"])
            commands = hints(run_id, args["request"].get("command"), ("follow", "stop"))
            for line in (
                f"{run_id} is still {followed['phase'] or 'going on'}; nothing is collected",
                *aligned(commands),
            ):
                display.display(line)
        return {**result, "changed": False, **followed}

    def _read(self, command: str) -> Sample | None:
        """Read the head's state and heartbeat; None while there is no whole document."""
        answer = self._low_level_execute_command(command, sudoable=True)
        documents = []
        for line in answer.get("stdout", "").splitlines():
            try:
                documents.append(json.loads(line))
            except ValueError:
                continue
        if not documents or not isinstance(documents[0], dict):
            return None
        beat = documents[1] if len(documents) > 1 else {}
        progress = beat.get("progress")
        return Sample(
            phase=clean(documents[0].get("phase")),
            count=int(beat.get("count") or 0),
            elapsed_s=float(beat.get("elapsed_s") or 0),
            progress=progress if isinstance(progress, dict) else None,
        )

    def _follow(self, run_dir: str) -> dict[str, Any]:
        paths = (os.path.join(run_dir, name) for name in ("state.json", "heartbeat.json"))
        command = shlex.join(["cat", *paths])
        line = _Line()
        first: Sample | None = None
        last_count, moved = -1, time.monotonic()
        while True:
            try:
                now = self._read(command)
            except AnsibleConnectionFailure as error:
                if time.monotonic() - moved > OUT_OF_REACH_AFTER_S:
                    raise AnsibleActionFail(
                        f"the head is out of reach for {OUT_OF_REACH_AFTER_S:.0f} s now ({error}); the run goes on"
                    ) from error
                now = None
            if now is not None:
                if now.count != last_count:
                    last_count, moved = now.count, time.monotonic()
                if first is None or (first.progress is None and now.progress is not None):
                    first = now
                line.draw(progress_line(first, now), last=now.phase in ENDED)
                if now.phase in ENDED:
                    return {"ended": True, "phase": now.phase, "interrupted": False}
            if time.monotonic() - moved > SILENT_AFTER_S:
                # collect judges by the runner's lock, which this raw read can't see
                return {"ended": True, "phase": now.phase if now else None, "interrupted": False}
            if not line.wait():
                phase = now.phase if now else None
                return {"ended": False, "phase": phase, "interrupted": True}


class _Line:
    """One line that is drawn over and over on a terminal; elsewhere a plain line now and then."""

    def __init__(self) -> None:
        self._text = ""
        self._drawn = False
        self._next_plain = 0.0

    def draw(self, text: str, last: bool) -> None:
        """Show the text now (plain output: when it is due, and always the last one)."""
        self._text = text[:WIDEST]
        if ON_TERMINAL:
            if last:
                display.display(self._over() + self._text)
        elif last or time.monotonic() >= self._next_plain:
            self._next_plain = time.monotonic() + PLAIN_EVERY_S
            display.display(text)

    def _over(self) -> str:
        return "\x1b[1A\r\x1b[K" if self._drawn else ""

    def wait(self) -> bool:
        """Wait until the next read; False when the user pressed Ctrl-C."""
        if not ON_TERMINAL:
            time.sleep(POLL_S)
            return True
        try:
            # The prompt draws the line, and its timer is what makes Ctrl-C a caught interrupt.
            display.prompt_until(
                self._over() + (self._text or "waiting for the head"), private=True, seconds=POLL_S, complete_input=()
            )
            self._drawn = True
        except AnsiblePromptInterrupt:
            return False
        except AnsiblePromptNoninteractive:
            time.sleep(POLL_S)
        return True
