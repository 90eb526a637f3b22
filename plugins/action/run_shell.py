# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `run_shell`: prints the command that enters the node or the container of a rank, and executes nothing."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

from ansible import constants, context
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.loader import connection_loader

from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict, parse_json
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean
from ansible_collections.muster.train.plugins.plugin_utils._action.base import ControllerAction
from ansible_collections.muster.train.plugins.plugin_utils._action.files import read_text
from ansible_collections.muster.train.plugins.plugin_utils._action.screen import show
from ansible_collections.muster.train.plugins.plugin_utils._cluster import login
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._request.parameters import InvalidValue, Parameter, read
from ansible_collections.muster.train.plugins.plugin_utils._request.settings import values
from ansible_collections.muster.train.plugins.plugin_utils._results import report, unanswered
from ansible_collections.muster.train.plugins.plugin_utils._results.infos import (
    RESULT_OPTIONS,
    answers,
    run_id_of,
    runs_of,
)
from ansible_collections.muster.train.plugins.plugin_utils._results.place import RankPlace, node_of, place_of
from ansible_collections.muster.train.plugins.plugin_utils._results.verdict import members

DOCKER = Parameter("launch_docker", "arguments")
PLUGIN = "ssh"
# Its options that a command needs, by Ansible's names.
SETTINGS = ("host", "port", "remote_user", "private_key_file", "ssh_executable", "host_key_checking")
ARGUMENTS = ("ssh_args", "ssh_common_args", "ssh_extra_args")
OF_NODE = ("ansible_connection", "ansible_become", "ansible_become_user", "ansible_become_method", "launch_docker")


class ActionModule(ControllerAction):
    """Print the command once, by the inventory, the plan and the nodes' answers."""

    OPTIONS = RESULT_OPTIONS

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        request, infos = args["request"], answers(variables, args)
        run_id, runs = str(run_id_of(infos, args["run_id"], request.get("run_id"))), runs_of(infos)
        asked = values(request)
        if wrong := report.no_such_rank(members(runs), request.get("parameters", {}).get("rank")):
            raise UserError(clean(wrong))
        plan = as_dict(parse_json(read_text(Path(request["experiments"], run_id, "plan.json"))))
        node = asked.get("node") or node_of(runs, plan, asked["rank"])
        place = place_of(node, run_id, runs, plan)
        words = self._command(place, variables)
        line = shlex.join(words)
        rank = asked.get("rank")
        if self.is_document_requested:
            known = {"run_id": run_id, "node": node, "rank": rank, "container": place.container}
            known.update(directory=place.directory, argv=words, line=line, errors=unanswered.errors(infos))
            self.document = known
        where = f"in the container {place.container} on {node}" if place.container else f"on {node}"
        who = f"{run_id} ({place.phase})" if place.phase else run_id
        text = f"{who} {where}" if rank is None else f"rank {rank} of {who} is {where}"
        show(["", clean(text + (f", in {place.directory}" if place.directory else "")), "", f"  {clean(line)}", ""])
        return {"run_id": run_id, "node": node, "argv": words}

    def _command(self, place: RankPlace, variables: dict[str, Any]) -> list[str]:
        known = self.host_values(place.node, OF_NODE, variables)
        inside = login.Inside(_docker(place.node, known), place.container) if place.container else None
        return login.command(self._login(place.node, known, variables), place.directory, inside)

    def _login(self, node: str, known: dict[str, Any], variables: dict[str, Any]) -> login.Login:
        """Return how Ansible reaches a node, by its variables, the command line and the configuration."""
        connection = str(known.get("ansible_connection") or context.CLIARGS.get("connection") or PLUGIN)
        become_user = _become_user(node, known)
        if connection in login.LOCAL:
            return login.Login(node, local=True, become_user=become_user)
        if connection not in login.SSH:
            raise UserError(
                f"{node}: expected ssh or local as ansible_connection, saw {connection}; "
                "enter it with the client of that connection"
            )
        connection_loader.get(PLUGIN, class_only=True)  # Ansible knows the settings of a plugin once it is loaded
        settings = constants.config.get_configuration_definitions("connection", PLUGIN)
        names = [entry["name"] for name in (*SETTINGS, *ARGUMENTS) for entry in settings[name].get("vars", [])]
        given = {"inventory_hostname": node, **self.host_values(node, names, variables)}

        def setting(name: str) -> Any:
            return constants.config.get_config_value(
                name, plugin_type="connection", plugin_name=PLUGIN, variables=given
            )

        key, user = setting("private_key_file"), setting("remote_user")
        try:
            options = login.ssh_options([str(setting(name) or "") for name in ARGUMENTS], setting("host_key_checking"))
        except ValueError as error:
            raise UserError(f"{node}: {' or '.join(ARGUMENTS)} cannot be taken apart: {error}; correct it") from None
        return login.Login(
            host=str(setting("host")),
            program=str(setting("ssh_executable")),
            port=setting("port"),
            user=str(user) if user else None,
            key=os.path.abspath(os.path.expanduser(str(key))) if key else None,
            options=options,
            become_user=become_user,
        )


def _docker(node: str, known: dict[str, Any]) -> list[str]:
    """Return how Docker is called on a node; the variable may be one line."""
    try:
        words = read(DOCKER, known.get("launch_docker") or ["docker"])
    except InvalidValue as error:
        raise UserError(f"{node}: launch_docker: {error}") from None
    return words if isinstance(words, list) else []


def _become_user(node: str, known: dict[str, Any]) -> str | None:
    """Return the user that Ansible becomes on a node, None where it stays who it is."""
    asked = known.get(
        "ansible_become", context.CLIARGS.get("become") or constants.config.get_config_value("DEFAULT_BECOME")
    )
    if not boolean(asked, strict=False):
        return None
    method = (
        known.get("ansible_become_method")
        or context.CLIARGS.get("become_method")
        or constants.config.get_config_value("DEFAULT_BECOME_METHOD")
    )
    if str(method).rpartition(".")[2] != "sudo":
        raise UserError(f"{node}: expected sudo as the method to become another user, saw {method}; enter it by hand")
    user = (
        known.get("ansible_become_user")
        or context.CLIARGS.get("become_user")
        or constants.config.get_config_value("DEFAULT_BECOME_USER")
    )
    return str(user or "root")
