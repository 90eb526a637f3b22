# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `step`: carries a step of a verb, which is in `plugin_utils/_verbs/`."""

from __future__ import annotations

import contextlib
import functools
import hmac
import secrets
import signal
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible import constants, context
from ansible.errors import AnsibleConnectionFailure, AnsibleError

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.plugin_utils._action.base import WIDTH, Action, raw_values
from ansible_collections.muster.train.plugins.plugin_utils._action.build import build_module
from ansible_collections.muster.train.plugins.plugin_utils._action.channel import Channel
from ansible_collections.muster.train.plugins.plugin_utils._action.command_line import read_command_line
from ansible_collections.muster.train.plugins.plugin_utils._action.document_output import print_document
from ansible_collections.muster.train.plugins.plugin_utils._action.files import (
    diff,
    make_link,
    read_text,
    write_temporary,
    write_text,
)
from ansible_collections.muster.train.plugins.plugin_utils._action.interrupt import Interrupt
from ansible_collections.muster.train.plugins.plugin_utils._action.limit import LateAnswer, limited
from ansible_collections.muster.train.plugins.plugin_utils._action.private import private_files
from ansible_collections.muster.train.plugins.plugin_utils._action.screen import print_line, show
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._slurm.command import run_slurm
from ansible_collections.muster.train.plugins.plugin_utils._text.plain import PlainMapping, plain
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import (
    Ask,
    CommandOutput,
    Conclude,
    Conclusion,
    HostSession,
    Play,
    Spawned,
    Symlink,
    Tone,
    Unreachable,
    Visit,
    WantedFile,
    find_step,
)

OPTIONS = {"name": {"type": "str", "required": True}}
NO_REQUEST = (
    "no play has checked a request before this task: import the playbook of the verb "
    "(import_playbook: muster.train.launch)"
)
# Marks what was registered for a request: one command may have several verbs.
TOKEN = "request_token"
# Made before Ansible forks a worker for the task; the workers of all hosts have the same ones.
INTERRUPT, CHANNEL = Interrupt(), Channel()
SECRET = secrets.token_bytes(32)
color_of = constants.config.get_config_value


class ActionModule(Action):
    """Ask a host, or conclude for all of them."""

    OPTIONS = OPTIONS

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        step = find_step(args["name"])
        self.is_for_all = isinstance(step, Conclude)
        is_first = isinstance(step, Conclude) and step.makes_request
        checked = {} if is_first else raw_values("localhost", variables).get("launch__request", {})
        is_refused = not (is_first or checked.get("request"))
        play, token = self._play(variables, checked), {TOKEN: checked.get(TOKEN)}
        if isinstance(step, Conclude):
            if is_refused:
                raise UserError(NO_REQUEST)
            return {**token, **self._finish(step.conclusion(play))}
        if is_refused:
            return {"skipped": True}  # the next step that concludes says why
        host = variables["inventory_hostname"]
        result = self._ask(step, play, host) if isinstance(step, Ask) else self._visit(step, play, host)
        return {**({"skipped": True} if result is None else result), **token}

    def _ask(self, step: Ask, play: Play, host: str) -> Mapping[str, Any] | None:
        """Return a host's answer, None if it is not asked."""
        options = step.options(play, host)
        if options is None:
            return None
        limit_s = step.limit_s(play) if step.limit_s else None
        try:
            with limited(limit_s):
                answer = play.host.run_module(step.module, options)
        except LateAnswer as late:
            answer = {"failed": True, "msg": str(late), "timedout": {"period": limit_s}}
        if answer.get("failed") and step.is_needed and not step.is_needed(play, host):
            return {**answer, "failed": False}
        return answer

    def _visit(self, step: Visit, play: Play, host: str) -> Mapping[str, Any] | None:
        """Return what was done on a host, None if it was not visited."""
        try:
            return step.work(play, host)
        except Unreachable as error:
            return {"unreachable": True, "msg": str(error)}

    def _session(self, variables: dict[str, Any]) -> HostSession:
        """Return what a step may do on the host of this task."""

        def run_module(module: str, options: Mapping[str, Any]) -> dict[str, Any]:
            try:
                result: dict[str, Any] = self._execute_module(
                    f"muster.train.{module}", dict(options), task_vars=variables
                )
                return result
            except AnsibleConnectionFailure as error:
                return {"unreachable": True, "msg": str(error)}
            except AnsibleError as error:  # such as a module that could not be copied to the host
                return {"failed": True, "msg": str(error)}

        def run_line(line: str) -> CommandOutput:
            try:
                done = self._low_level_execute_command(line, sudoable=True)
            except AnsibleConnectionFailure as error:
                raise Unreachable(str(error)) from None
            return CommandOutput(done.get("stdout", ""), done.get("stderr", ""))

        def fetch_file(path: str, local: Path) -> None:
            try:
                self._connection.fetch_file(path, str(local))
            except AnsibleConnectionFailure as error:
                raise Unreachable(str(error)) from None
            except AnsibleError as error:
                raise OSError(str(error)) from None

        return HostSession(
            run_module=run_module,
            run_line=run_line,
            fetch_file=fetch_file,
            prepare_module=lambda module: build_module(self, f"muster.train.{module}", variables),
            becomes=bool(self._connection.become),
        )

    def _play(self, variables: dict[str, Any], checked: Mapping[str, Any]) -> Play:
        """Return what the step may know, from the variables of its task and what the request's has registered."""

        def read_values(host: str, names: Iterable[str]) -> dict[str, Any]:
            values: dict[str, Any] = plain(self.host_values(host, names, variables))
            return values

        def read_policy(names: Iterable[str]) -> dict[str, Any]:
            values: dict[str, Any] = plain(self.task_values(names, variables))
            return values

        def read_answer(host: str, name: str) -> Any:
            answer = raw_values(host, variables).get(name)
            is_earlier = isinstance(answer, Mapping) and answer.get(TOKEN, checked.get(TOKEN)) != checked.get(TOKEN)
            return None if is_earlier else answer

        return Play(
            request=PlainMapping(checked.get("request", {})),
            groups=variables["groups"],
            read_values=read_values,
            read_policy=read_policy,
            read_tagged=lambda host, names: self.host_values(host, names, variables),
            read_raw=lambda host: raw_values(host, variables),
            read_answer=read_answer,
            read_command_line=lambda: read_command_line(self._loader, self._task.get_play().vars),
            host=self._session(variables),
            heads=plain(checked.get("heads", ())),
            hosts=variables.get("ansible_play_hosts_all", ()),
            interrupt=INTERRUPT,
            channel=CHANNEL,
            is_checked=self._task.check_mode,
            shows_diff=self._task.diff,
            forks=int(context.CLIARGS.get("forks") or constants.config.get_config_value("DEFAULT_FORKS")),
            width=WIDTH,
            cli_options=context.CLIARGS,
            launch_defaults=self.launch_defaults(),
            run_command=_run_command,
            run_slurm=functools.partial(run_slurm, Host().run),
            read_group=lambda group, names: self.group_values(group, names, variables),
            spawn_command=_spawn_command,
            derive_key=_derive_key,
        )

    def _finish(self, conclusion: Conclusion) -> dict[str, Any]:
        """Print and write what was concluded; return the task's result."""
        if conclusion.output is not None:
            print_document(conclusion.output)
        else:
            for line in conclusion.lines:
                text, tone = line if isinstance(line, tuple) else (line, Tone.PLAIN)
                print_line(text, color_of(tone.value) if tone.value else None)
        if self.is_document_requested:
            self.document = conclusion.document
        changed, diffs = self._write(conclusion.files, conclusion.links)
        show(conclusion.closing_lines)
        result = {**conclusion.result, "changed": conclusion.is_changed or changed}
        if conclusion.warnings:
            result["warnings"] = list(conclusion.warnings)
        if diffs and self._task.diff:
            result["diff"] = diffs
        if conclusion.failure is None:
            return result
        documented = self._document_of(conclusion.failure)
        self.document = documented.get("verb_document")
        return {**result, "failed": True, "msg": str(conclusion.failure), "reported": conclusion.is_shown}

    def _write(self, files: Sequence[WantedFile], links: Sequence[Symlink]) -> tuple[bool, list[dict[str, str]]]:
        """Write those that differ, and the links; return whether there is one, and how they change."""
        has_changed, diffs = False, []
        for file in files:
            before = read_text(file.path)
            differs = before is None or not (file.is_same(before) if file.is_same else before == file.text)
            has_changed |= differs and file.is_needed
            if (differs or (file.is_refreshed and before != file.text)) and not self._task.check_mode:
                with private_files() if file.is_private else contextlib.nullcontext():
                    try:
                        write_text(file.path, file.text, file.option, file.expected)
                    except UserError:
                        if file.is_needed:
                            raise
                        continue
            if file.former is not None and not self._task.check_mode:
                file.former.unlink(missing_ok=True)
            if file.note is None and file.has_diff and differs:
                diffs.append(diff(file.path, before, file.text))
            elif file.note is not None and not self._task.check_mode:
                show([file.note])
        for link in links if has_changed and not self._task.check_mode else ():
            make_link(link.path, link.target, link.is_newest)
        return has_changed, diffs


def _run_command(argv: Sequence[str], timeout_s: float) -> str | None:
    """Return the standard output of a command on the controller, None if it is not installed."""
    done = Host().run(argv, timeout_s)
    return None if done.missing else done.out


def _spawn_command(argv: Sequence[str]) -> Spawned:
    """Start a command in a session of its own, whose output is in a file of this one."""
    host, log = Host(), write_temporary("spawned-", "")
    try:
        pid = host.spawn_detached(argv, log, "/")
    except OSError as error:
        why = f"{argv[0]}: {error.strerror}"
        return Spawned(lambda: True, lambda: why)
    return Spawned(lambda: host.child_ended(pid), lambda: host.read_text(log) or "", lambda: _kill(host, pid))


def _kill(host: Host, pid: int) -> None:
    """Kill a command, its children first, so that none of them outlives it to clean up."""
    if host.child_ended(pid):
        return
    command = process_tree.look(pid)
    for process in [*reversed(process_tree.descendants(pid)), *([command] if command else [])]:
        process_tree.send(process, signal.SIGKILL)


def _derive_key(subject: str) -> str:
    return hmac.digest(SECRET, subject.encode(), "sha256").hex()
