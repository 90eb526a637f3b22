# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stdout callback `brief`: a line for each stage, what changed, what failed, and nothing else."""

from __future__ import annotations

DOCUMENTATION = r"""
name: brief
type: stdout
short_description: Show stages, changes and failures, and what Muster reports
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Prints what the tasks of Muster report, one line for each stage with its time and the number of its nodes, tasks of
    roles that changed something or failed, and warnings.
  - A failure is printed once, and hosts with the same result share a line.
  - With C(-v) the output is that of P(ansible.builtin.default#callback).
  - With C(-e output=json) the standard output is left to the verb's document, and failures go to the standard error.
extends_documentation_fragment:
  - ansible.builtin.default_callback
  - ansible.builtin.result_format_callback
requirements:
  - C(stdout_callback) is V(muster.train.brief) in C(ansible.cfg), or E(ANSIBLE_STDOUT_CALLBACK) is.
"""

import contextlib
import functools
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from ansible import constants
from ansible.plugins.callback.default import CallbackModule as Default

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean
from ansible_collections.muster.train.plugins.plugin_utils._action.output_format import is_document_requested
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import silent_of
from ansible_collections.muster.train.plugins.plugin_utils._cluster.silence import why_silent
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import task_message
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import line as finding_line
from ansible_collections.muster.train.plugins.plugin_utils._screen.results import (
    TaskLog,
    failed_command,
    message_lines,
    recap,
)
from ansible_collections.muster.train.plugins.plugin_utils._screen.stages import (
    STAGES,
    Stage,
    is_own,
    stage_line,
    task_title,
)
from ansible_collections.muster.train.plugins.plugin_utils._text.table import node_names
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Ask, find_step

color_of: Callable[[str], str] = constants.config.get_config_value
# What a failed result has beside its message that tells a user nothing.
UNINFORMATIVE = {
    *("changed", "assertion", "evaluated_to", "failed_when_result", "ansible_facts", "ansible_loop_var"),
    *("exception", "warnings", "deprecations"),
}


def unless_verbose(method: Callable[..., None]) -> Callable[..., None]:
    """Leave an event to Ansible's default callback if -v was given."""

    @functools.wraps(method)
    def handle(self: CallbackModule, *args: Any, **kwargs: Any) -> None:
        if self._display.verbosity:
            getattr(super(CallbackModule, self), method.__name__)(*args, **kwargs)
        else:
            method(self, *args, **kwargs)

    return handle


class CallbackModule(Default):
    """Group what is the same on several hosts; a failure is printed when it is first seen, all else after the task."""

    CALLBACK_NAME = "muster.train.brief"

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._is_document = False
        self._logs: dict[str, tuple[Any, TaskLog]] = {}
        self._counts: dict[str, Counter[str]] = {}

    def v2_playbook_on_start(self, playbook: Any) -> None:
        """Find out whether the standard output is a document."""
        self._is_document = not self._display.verbosity and is_document_requested(playbook.get_loader())
        super().v2_playbook_on_start(playbook)  # type: ignore[no-untyped-call]

    @unless_verbose
    def v2_playbook_on_play_start(self, play: Any) -> None:
        self._play = play

    @unless_verbose
    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        self._begin(task)

    @unless_verbose
    def v2_playbook_on_handler_task_start(self, task: Any) -> None:
        self._begin(task)

    @unless_verbose
    def v2_playbook_on_include(self, included_file: Any) -> None: ...

    @unless_verbose
    def v2_playbook_on_no_hosts_matched(self) -> None: ...

    @unless_verbose
    def v2_playbook_on_no_hosts_remaining(self) -> None: ...

    @unless_verbose
    def v2_runner_on_ok(self, result: Any) -> None:
        self._handle_warnings(result.result)
        log, host = self._log(result), result.host.get_name()
        changed = bool(result.result.get("changed"))
        log.add("changed" if changed else "ok", "", host)
        if changed and not is_own(result.task.action):
            self._count(host, "changed")
        if result.task.action in vars(constants)["_ACTION_DEBUG"] and not result.task.loop:
            self._add_message(log, result)

    @unless_verbose
    def v2_runner_on_skipped(self, result: Any) -> None:
        self._handle_warnings(result.result)

    @unless_verbose
    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._handle_warnings(result.result)
        stage = stage_of(result.task)
        text = "" if result.task.loop and "results" in result.result else self._failure(result)
        has_reporter = is_own(result.task.action) and ignore_errors
        # Another task says what failed, or this one has printed it.
        if has_reporter or (stage and stage.reported) or result.result.get("reported"):
            text = ""
        self._fail(result, "failed", text, ignore_errors)

    @unless_verbose
    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._handle_warnings(result.result)
        ignored = bool(result.task.ignore_unreachable)
        # What ignores it reports it: the table of `status`, the checks, the plan.
        text = "" if ignored and is_own(result.task.action) else _unreachable(result)
        self._fail(result, "unreachable", text, ignored)

    @unless_verbose
    def v2_runner_retry(self, result: Any) -> None:
        if result.result.get("attempts") == 1:  # once, however often it tries again
            self._print(f"{task_title(result.task.get_name().strip())} …", is_progress=True)

    @unless_verbose
    def v2_runner_item_on_ok(self, result: Any) -> None:
        self._handle_warnings(result.result)
        log = self._log(result)
        if result.result.get("changed"):
            log.add_label(clean(str(self._get_item_label(result.result))))
        if result.task.action in vars(constants)["_ACTION_DEBUG"]:
            self._add_message(log, result)

    @unless_verbose
    def v2_runner_item_on_skipped(self, result: Any) -> None:
        self._handle_warnings(result.result)

    @unless_verbose
    def v2_runner_item_on_failed(self, result: Any) -> None:
        self._handle_warnings(result.result)
        item = clean(str(self._get_item_label(result.result)))
        self._fail(result, "failed", f"{item}: {self._failure(result)}", bool(result.task.ignore_errors), counts=False)

    @unless_verbose
    def v2_on_file_diff(self, result: Any) -> None:
        results = result.result.get("results", [result.result]) if result.task.loop else [result.result]
        for item in results:
            if item.get("diff") and item.get("changed") and (diff := self._get_diff(item["diff"])):
                self._log(result).add("diff", diff, result.host.get_name())

    @unless_verbose
    def v2_playbook_on_stats(self, stats: Any) -> None:
        self._end_tasks()
        if stats.custom and self.get_option("show_custom_stats"):
            super().v2_playbook_on_stats(stats)  # type: ignore[no-untyped-call]
        elif lines := recap(self._counts):
            self._print("")
            for line in lines:
                failed = "failed" in line or "unreachable" in line
                self._print(line, color_of("COLOR_ERROR" if failed else "COLOR_CHANGED"))

    def _begin(self, task: Any) -> None:
        self._end_tasks()
        self._logs[task._uuid] = (task, TaskLog(time.monotonic()))

    def _log(self, result: Any) -> TaskLog:
        """Return the log of a result's task, which with other strategies may not be the last one that began."""
        now = time.monotonic()
        log = self._logs.setdefault(result.task._uuid, (result.task, TaskLog(now)))[1]
        log.ended = now
        return log

    def _end_tasks(self) -> None:
        for task, log in self._logs.values():
            self._end(task, log)
        self._logs.clear()

    def _end(self, task: Any, log: TaskLog) -> None:
        """Print what is said of all hosts of a task."""
        title, stage = task_title(task.get_name().strip()), stage_of(task)
        for kind in ("failed", "unreachable"):
            for text, hosts in log.texts(kind):
                if text and len(hosts) > 1:
                    same = f"{kind}: {node_names(hosts[1:])}: the same as {hosts[0]}"
                    self._print(same, color_of("COLOR_ERROR"), is_error=True)
        for diff, hosts in log.texts("diff"):
            if not is_own(task.action):
                self._print(f"{title} on {node_names(hosts)}", is_progress=True)
            self._print(diff, is_progress=True)
        for text, hosts in log.texts("message"):
            for line in message_lines(node_names(hosts), text):
                self._print(line, is_progress=True)
        answered, changed = log.of("ok", "changed"), log.of("changed")
        missing = {kind: log.of(kind) for kind in ("unreachable", "failed")}
        if stage and (answered or any(missing.values())):
            text = stage.text(bool(changed), bool(task.check_mode))
            line = stage_line(text, answered, missing, log.ended - log.started)
            self._print(line, color_of("COLOR_WARN") if any(missing.values()) else None, is_progress=True)
        elif changed and not is_own(task.action):
            word = "would change" if task.check_mode else "changed"
            line = f"{word} {node_names(changed)}: {title}{log.items}"
            self._print(line, color_of("COLOR_CHANGED"), is_progress=True)

    def _fail(self, result: Any, kind: str, text: str, ignored: bool, counts: bool = True) -> None:
        """Record a failure, and print it unless another host has the same."""
        host, task = result.host.get_name(), result.task
        is_ours = is_own(task.action)
        is_about_all = is_ours and task.run_once
        if not is_about_all:
            text = text.removeprefix(f"{host}: ")
        is_first = self._log(result).add(kind, text, host)
        if counts and not is_ours and not ignored:
            self._count(host, kind)
        if not text or not is_first:
            return
        name = color_of("COLOR_UNREACHABLE" if kind == "unreachable" else "COLOR_ERROR")
        if is_about_all:
            title = "error"
        else:
            title = f"{kind}{' (ignored)' if ignored else ''}: {host}"
            title += "" if is_ours else f": {task_title(task.get_name().strip())}"
        for line in message_lines(title, text):
            self._print(clean(line), name, is_error=True)

    def _failure(self, result: Any) -> str:
        """Return why a task failed: its message, or all of the result where there is more to tell."""
        names = [name for name in result.result if name not in UNINFORMATIVE and name[0] != "_"]
        if is_own(result.task.action) or {*names} <= {"msg", "invocation"}:
            return task_message(result.result, str(result.result.get("censored") or "no reason given"))
        if {"cmd", "rc", "stdout", "stderr"} <= {*names}:
            return failed_command(result.result)
        return self._dump_results({name: result.result[name] for name in names})

    def _add_message(self, log: TaskLog, result: Any) -> None:
        self._clean_results(shown := result.result, result.task.action)
        message = shown.get("msg")
        log.add("message", message if isinstance(message, str) else self._dump_results(shown), result.host.get_name())

    def _count(self, host: str, word: str) -> None:
        self._counts.setdefault(host, Counter())[word] += 1

    def _print(self, line: str, color: str | None = None, *, is_error: bool = False, is_progress: bool = False) -> None:
        """Print a line; beside a document, failures go to the standard error and progress is left out."""
        if is_progress and self._is_document:
            return
        self._display.display(
            line, color=color, stderr=self._is_document or (is_error and self.get_option("display_failed_stderr"))
        )


def module_of(task: Any) -> str:
    """Return the action of a task, or the module that its step of a verb runs."""
    step = None
    with contextlib.suppress(LookupError):  # the task says so
        step = find_step(task.args["name"]) if task.action == "muster.train.step" else None
    return f"muster.train.{step.module}" if isinstance(step, Ask) else str(task.action)


def stage_of(task: Any) -> Stage | None:
    """Return the stage of a task, by the step that it carries or by the module that it runs."""
    step = task.args.get("name") if task.action == "muster.train.step" else None
    return STAGES.get(str(step)) or STAGES.get(module_of(task))


def _unreachable(result: Any) -> str:
    """Return why a node was not reached, and what to do, as every verb says it."""
    delegated = result.result.get("_ansible_delegated_vars") or {}
    node = str(delegated.get("ansible_delegated_host") or result.host.get_name())
    return finding_line(why_silent(silent_of(node, result.result, "it did not answer")))
