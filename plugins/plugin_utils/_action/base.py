# SPDX-License-Identifier: GPL-3.0-or-later
"""The base classes of the action plugins."""

from __future__ import annotations

import shutil
from collections import ChainMap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from ansible.errors import AnsibleActionFail
from ansible.inventory.host import Host
from ansible.utils.vars import transform_to_native_types

from .._findings.errors import UserError
from . import output_format
from .command_line import GROUPS
from .connection import ModuleRunner
from .controller import end_with_controller, end_without_reader, print_lines_at_once

# Ansible imports an action in its main process before it forks a worker for it.
end_without_reader()
print_lines_at_once()

# Columns of a table. A worker has no terminal of its own; this is what the user's was when Ansible imported this file.
WIDTH = max(60, min(160, shutil.get_terminal_size((100, 24)).columns))
LAUNCH_DEFAULTS = Path(__file__).parents[3] / "roles" / "launch" / "defaults" / "main.yml"


class Action(ModuleRunner):
    """An action plugin that gets plain, validated options, and whose `UserError` is the task's message."""

    OPTIONS: ClassVar[Mapping[str, Any]] = {}
    TRANSFERS_FILES = False
    _supports_check_mode = True
    # What `perform` knows of the verb's document so far; only made where it is requested.
    document: Mapping[str, Any] | None = None
    # Whether the task speaks for all nodes.
    is_for_all = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        end_with_controller()
        result: dict[str, Any] = super().run(tmp, task_vars)
        args = transform_to_native_types(self.validate_argument_spec(self.OPTIONS)[1], redact=False)
        try:
            result.update({"changed": False, **self.perform(args, task_vars or {})})
        except UserError as error:
            raise AnsibleActionFail(str(error), result=self._document_of(error)) from None
        return result if self.document is None else {**result, "verb_document": self.document}

    @property
    def is_document_requested(self) -> bool:
        """Whether the verb must print a document."""
        return output_format.is_document_requested(self._loader)

    def _document_of(self, error: UserError) -> dict[str, Any]:
        """Return the result of a task that failed: one that speaks for all nodes has the error as data."""
        if not ((self.BYPASS_HOST_LOOP or self.is_for_all) and self.is_document_requested):
            return {}
        document = self.document or {}
        return {"verb_document": {**document, "errors": [*document.get("errors", []), *error.records()]}}

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        """Return the task's result, from its options and the host's variables."""
        raise NotImplementedError

    def host_values(self, host: str, names: Iterable[str], variables: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of the variables that are set for a host; they may refer to defaults of roles."""
        raw = raw_values(host, variables)
        return self._values(raw, names, raw, dict(variables))

    def group_values(self, group: str, names: Iterable[str], variables: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of the variables that a host of a group of an allocation would have, before it has nodes."""
        if group not in GROUPS:
            return {}
        host = Host(group)
        host.add_group(GROUPS[group])
        raw = self._task.get_variable_manager().get_vars(host=host, include_hostvars=False)
        return self._values(raw, names, raw, dict(variables))

    def task_values(self, names: Iterable[str], variables: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of the variables that are set for the task's host; they may refer to defaults of roles."""
        return self._values(variables, names, dict(variables))

    def node_answers(
        self, hosts: Iterable[str], register: str, names: Iterable[str], variables: Mapping[str, Any]
    ) -> dict[str, dict[str, Any]]:
        """Return what was registered on each host, which is never a template, and these variables, with its address."""
        answers = {}
        for host in hosts:
            raw = raw_values(host, variables)
            result = {register: raw[register]} if register in raw else {}
            answers[host] = {**result, **self._values(raw, ("ansible_host", *names), raw, dict(variables))}
        return answers

    def _values(self, source: Mapping[str, Any], names: Iterable[str], *layers: Any) -> dict[str, Any]:
        # HostVars have no defaults of roles, and only tasks of the role `launch` have its defaults.
        templar = self._templar.copy_with_new_env(available_variables=ChainMap(*layers, self.launch_defaults()))
        return {name: templar.template(source[name]) for name in names if name in source}

    def launch_defaults(self) -> Any:
        """Return the defaults of the role `launch`."""
        return self._loader.load_from_file(str(LAUNCH_DEFAULTS), unsafe=True)  # not copied, as it is only read


def raw_values(host: str, variables: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the variables of a host as they are, templates not rendered; none for a host that is not in the play."""
    hosts = variables["hostvars"]
    raw: Mapping[str, Any] = hosts.raw_get(host) if host in hosts else {}
    return raw


class ControllerAction(Action):
    """An action plugin that runs once for all hosts and contacts none. Strings from hosts are never templated."""

    BYPASS_HOST_LOOP = True
    _requires_connection = False
