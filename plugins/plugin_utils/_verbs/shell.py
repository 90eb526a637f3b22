# SPDX-License-Identifier: GPL-3.0-or-later
"""`shell`: the command that enters the node, or the container, of a rank. It is printed, and nothing is executed.

After the steps of `find` and `ranks`, the node of the rank is known by the plan and the answers.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible import constants, context
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.loader import connection_loader

from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict, parse_json
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.files import read_text
from .._cluster import login
from .._findings.errors import UserError
from .._pods.command import CONNECTIONS, binary_of, enter, variable
from .._request.invalid_value import InvalidValue
from .._request.parameters import Parameter, read
from .._results import report as texts
from .._results import unanswered
from .._results.infos import runs_of
from .._results.rank_place import RankPlace, node_of, place_of
from .._results.verdict import members
from .._slurm.step_command import on_node, without_options
from .find import infos_of, subject
from .record import experiment_of
from .step import Conclude, Conclusion, Play

DOCKER = Parameter("launch_docker", "arguments")
PLUGIN = "ssh"
# Its options that a command needs, by Ansible's names.
SETTINGS = ("host", "port", "remote_user", "private_key_file", "ssh_executable", "host_key_checking")
ARGUMENTS = ("ssh_args", "ssh_common_args", "ssh_extra_args")
OF_NODE = (
    *("ansible_connection", "ansible_become", "ansible_become_user", "ansible_become_method", "launch_docker"),
    *("ansible_srun_job", "ansible_host"),
    *(
        variable(binary, name)
        for binary in CONNECTIONS
        for name in ("kubeconfig", "context", "namespace", "pod", "container")
    ),
)


@Conclude
def report(play: Play) -> Conclusion:
    """Print the command, by the inventory, the plan and the nodes' answers."""
    (run_id, _head), infos, asked = subject(play), infos_of(play), play.parameters
    runs = runs_of(infos)
    if wrong := texts.no_such_rank(members(runs), play.request["parameters"].get("rank")):
        raise UserError(clean(wrong))
    plan = as_dict(parse_json(read_text(Path(str(experiment_of(play, run_id)), "plan.json"))))
    rank, node = asked["rank"], asked["node"] or node_of(runs, plan, asked["rank"])
    place = place_of(node, run_id, runs, plan)
    words = _command(play, place)
    line = shlex.join(words)
    document = {"run_id": run_id, "node": node, "rank": rank, "container": place.container}
    document.update(directory=place.directory, argv=words, line=line, errors=unanswered.errors(infos))
    where = f"in the container {place.container} on {node}" if place.container else f"on {node}"
    who = f"{run_id} ({place.phase})" if place.phase else run_id
    text = f"{who} {where}" if rank is None else f"rank {rank} of {who} is {where}"
    text += f", in {place.directory}" if place.directory else ""
    return Conclusion(lines=["", clean(text), "", f"  {clean(line)}", ""], document=document, result={"argv": words})


def _command(play: Play, place: RankPlace) -> list[str]:
    known = play.read_values(place.node, OF_NODE)
    inside = login.Inside(_docker(place.node, known), place.container) if place.container else None
    return login.command(_login(play, place.node, known), place.directory, inside)


def _login(play: Play, node: str, known: Mapping[str, Any]) -> login.Login:
    """Return how Ansible reaches a node, by its variables, the command line and the configuration."""
    connection = str(known.get("ansible_connection") or context.CLIARGS.get("connection") or PLUGIN)
    become_user = _become_user(node, known)
    if connection in login.LOCAL:
        return login.Login(node, local=True, become_user=become_user)
    if connection == login.SRUN:
        options = on_node(str(known.get("ansible_srun_job")), str(known.get("ansible_host") or node))
        step = [*without_options(os.environ), "srun", "--export=ALL", "--pty", *options]
        return login.Login(node, local=True, step=step, become_user=become_user)
    if binary := binary_of(connection):
        return login.Login(node, local=True, step=enter(binary, node, known), become_user=become_user)
    if connection not in login.SSH:
        expected = ", ".join(("ssh", "local", login.SRUN, *CONNECTIONS.values()))
        raise UserError(
            f"{node}: expected one of {expected} as ansible_connection, saw {connection}; "
            "enter it with the client of that connection"
        )
    connection_loader.get(PLUGIN, class_only=True)  # Ansible knows the settings of a plugin once it is loaded
    settings = constants.config.get_configuration_definitions("connection", PLUGIN)
    names = [entry["name"] for name in (*SETTINGS, *ARGUMENTS) for entry in settings[name].get("vars", [])]
    given = {"inventory_hostname": node, **play.read_values(node, names)}

    def setting(name: str) -> Any:
        return constants.config.get_config_value(name, plugin_type="connection", plugin_name=PLUGIN, variables=given)

    key, user = setting("private_key_file"), setting("remote_user")
    try:
        options = login.ssh_options([str(setting(name) or "") for name in ARGUMENTS], setting("host_key_checking"))
    except ValueError as error:
        raise UserError(f"{node}: {' or '.join(ARGUMENTS)} cannot be parsed: {error}; correct it") from None
    return login.Login(
        host=str(setting("host")),
        program=str(setting("ssh_executable")),
        port=setting("port"),
        user=str(user) if user else None,
        key=os.path.abspath(os.path.expanduser(str(key))) if key else None,
        options=options,
        become_user=become_user,
    )


def _docker(node: str, known: Mapping[str, Any]) -> list[str]:
    """Return how Docker is called on a node; the variable may be one line."""
    try:
        words = read(DOCKER, known.get("launch_docker") or ["docker"])
    except InvalidValue as error:
        raise UserError(f"{node}: launch_docker: {error}") from None
    return words if isinstance(words, list) else []


def _become_user(node: str, known: Mapping[str, Any]) -> str | None:
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
