# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `verb_request`: gathers parameters, environment and inventory; `make_request` checks them."""

from __future__ import annotations

import getpass
import os
import platform
import secrets
import socket
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from ansible import constants, context
from ansible.module_utils.common.yaml import yaml_load
from ansible.parsing.splitter import parse_kv
from ansible.release import __version__ as ansible_core_version
from ansible.utils.vars import load_extra_vars, transform_to_native_types

from ansible_collections.muster.train.plugins.module_utils._records.known import parse_json
from ansible_collections.muster.train.plugins.plugin_utils._action.base import ControllerAction, raw_values
from ansible_collections.muster.train.plugins.plugin_utils._action.files import read_text
from ansible_collections.muster.train.plugins.plugin_utils._action.private import try_writing
from ansible_collections.muster.train.plugins.plugin_utils._cluster.ports import DEFAULT_RANGE, read_range
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._request.carried import carried_variables, without_launch
from ansible_collections.muster.train.plugins.plugin_utils._request.encrypted import refuse_encrypted
from ansible_collections.muster.train.plugins.plugin_utils._request.hints import command
from ansible_collections.muster.train.plugins.plugin_utils._request.nodes import Inventory, InventoryHost
from ansible_collections.muster.train.plugins.plugin_utils._request.request import (
    InvalidRequest,
    Situation,
    make_request,
)
from ansible_collections.muster.train.plugins.plugin_utils._request.run_id import check as check_run_id
from ansible_collections.muster.train.plugins.plugin_utils._request.run_id import is_new
from ansible_collections.muster.train.plugins.plugin_utils._request.settings import named_in_templates
from ansible_collections.muster.train.plugins.plugin_utils._request.verbs import TAGS, VERBS
from ansible_collections.muster.train.plugins.plugin_utils._results.ranks import possible_heads
from ansible_collections.muster.train.plugins.plugin_utils._text.plain import plain

COLLECTION = Path(__file__).resolve().parents[2]
# The verbs that show or save the ranks' environment, and the variables of a node that it comes from.
SAVING = ("launch", "sweep", "detect", "preflight")
# The verbs that record. Launch and collect are of no use where nothing can be written; follow only warns.
RECORDING = ("launch", "sweep", "follow", "collect", "stacks")
POLICY = ("launch_experiments_dir", "launch_defaults")
PORT_RANGE = "launch_port_range"
SAVED_OF_NODE = ("launch_env", "launch_node_env")
OPTIONS = {
    "verb": {"type": "str", "required": True, "choices": list(VERBS)},
    "defaults": {"type": "dict"},
    "experiments_dir": {"type": "str"},
}


class ActionModule(ControllerAction):
    """Check the request of a verb once, on the controller, before any node is contacted."""

    OPTIONS = OPTIONS

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        hostvars = variables["hostvars"]
        names = list(variables["groups"].get("nodes", []))
        # The cluster's policy is its first node's; `list` works without a cluster.
        policy = self.host_values(names[0], POLICY, variables) if names else variables
        experiments = args["experiments_dir"] or policy.get("launch_experiments_dir") or "experiments"
        defaults = policy.get("launch_defaults", {}) if args["defaults"] is None else args["defaults"]
        extra_vars, lines = _raw_extra_vars(self._loader, args["verb"])
        documented = _documented_variables() | {parameter.name for parameter in VERBS[args["verb"]]}
        where = os.path.abspath(os.path.expanduser(str(experiments)))
        earlier, warning = _earlier_plan(where, extra_vars.get("run_id")) if args["verb"] == "launch" else (None, None)
        inventory = Inventory(
            nodes=tuple(_node(name, hostvars[name]) for name in names),
            sources=tuple(str(source) for source in context.CLIARGS.get("inventory") or ()),
            limit=None if _selects_part(args["verb"]) else context.CLIARGS.get("subset"),
            spares=tuple(_node(name, hostvars[name]) for name in variables["groups"].get("spares", [])),
        )
        lines += _skipping_options(args["verb"]) + _play_variables(self._task.get_play().vars, args["verb"], extra_vars)
        if args["verb"] in SAVING:
            hosts = [*names, *variables["groups"].get("spares", [])]
            saved = [self.host_values(host, SAVED_OF_NODE, variables) for host in hosts]
            lines += refuse_encrypted(
                [("launch_defaults", defaults), *(item for items in saved for item in items.items())]
            )
        try:
            request = make_request(
                args["verb"],
                extra_vars=extra_vars,
                environment=os.environ,
                defaults=transform_to_native_types(defaults, redact=False),
                documented=documented | _inventory_variables(set(extra_vars) - documented, variables),
                inventory=inventory,
                situation=_situation(where, self._loader),
                earlier=earlier,
            )
        except InvalidRequest as refused:
            raise InvalidRequest([*lines, *refused.reasons]) from None
        if lines:
            raise InvalidRequest(lines)
        warnings = [warning + command("collect", request["run_id"], request["call"])] if warning else []
        if args["verb"] in RECORDING:
            make = args["verb"] in ("launch", "sweep") and not self._task.check_mode
            try:
                try_writing(Path(where), "launch_experiments_dir", make)
                if request["experiment"]:
                    try_writing(Path(request["experiment"]), "launch_experiments_dir", make=False)
            except UserError as error:
                if args["verb"] != "follow":  # a run can be followed without being recorded
                    raise
                warnings.append(str(error))
        result: dict[str, Any] = {"request": request, **({"warnings": warnings} if warnings else {})}
        plan = parse_json(read_text(Path(request["experiment"], "plan.json"))) if request["experiment"] else None
        result["request_token"] = secrets.token_hex(8)
        result["heads"] = possible_heads(plan, names, [host.name for host in inventory.spares])
        if args["verb"] in SAVING:
            result["defaults"] = plain(defaults or {})
        if args["verb"] == "preflight":
            result["first_port"] = _first_port(self.host_values(names[0], [PORT_RANGE], variables))
        return result


def _inventory_variables(names: set[str], variables: Mapping[str, Any]) -> set[str]:
    """Return those of the names that a template of the inventory has: they are the user's own variables."""
    hosts = dict.fromkeys(chain.from_iterable(variables["groups"].values())) if names else ()
    return named_in_templates(names, (raw_values(host, variables) for host in hosts))


def _first_port(policy: Mapping[str, Any]) -> int | None:
    """Return the first port of runs; None if the range is not valid, which the checks report with its reason."""
    try:
        return (read_range(str(policy[PORT_RANGE])) if PORT_RANGE in policy else DEFAULT_RANGE)[0]
    except ValueError:
        return None


def _earlier_plan(experiments: str, run_id: object) -> tuple[object, str | None]:
    """Return the plan of a run that is launched again, or the beginning of a warning if there is none."""
    try:
        home = os.path.join(experiments, check_run_id(str(run_id)))
    except ValueError:  # not given or invalid
        return None, None
    plan = parse_json(read_text(Path(home, "plan.json")))
    if isinstance(plan, dict):
        return plan, None
    if is_new(str(run_id), datetime.now(UTC)):
        return None, None
    return None, (
        f"there is no plan of {run_id} in {experiments}: if it was launched before, its parameters are not known here; "
        "to reuse them, collect it first: "
    )


def _selected_tags() -> tuple[str, ...]:
    """Return the tags that --tags selects; none where it selects all."""
    tags = tuple(map(str, context.CLIARGS.get("tags") or ()))
    return () if tags == ("all",) else tags


def _selects_part(verb: str) -> bool:
    """Whether only a part of the verb was asked for, which works on any of the nodes."""
    return verb in TAGS and bool(_selected_tags())


def _skipping_options(verb: str) -> list[str]:
    """Return a line for each option that skips tasks: the other tasks would succeed without doing anything."""
    tags, task = _selected_tags(), context.CLIARGS.get("start_at_task")
    lines = []
    if verb in TAGS and not set(tags) <= {*TAGS[verb]}:
        lines.append(f"--tags: expected {', '.join(TAGS[verb])}, saw {','.join(tags)!r}; correct it")
    elif verb not in TAGS and tags:
        lines.append(f"--tags: expected none, saw {','.join(tags)!r}; the tasks of a verb have no tags, remove it")
    if task:
        lines.append(f"--start-at-task: expected none, saw {task!r}; a verb runs as a whole, remove it")
    return lines


def _play_variables(names: Iterable[str], verb: str, extra_vars: Mapping[str, object]) -> list[str]:
    """Return a line for each variable that `vars` of an import_playbook sets, of which only the plays would know."""
    parameters = {parameter.name for parameter in VERBS[verb]}
    # The roles of the setup read their variables from its play.
    documented = set() if verb == "setup" else _documented_variables()
    return [
        f"{name}: set by `vars` of import_playbook, which a verb does not read; give it with -e {name}=..., or set "
        + ("it in launch_defaults" if name in parameters else "it for the group 'nodes' of the inventory")
        for name in sorted({*names} - extra_vars.keys())
        if name in parameters or (name in documented and "__" not in name)
    ]


def _raw_extra_vars(loader: Any, verb: str) -> tuple[dict[str, Any], list[str]]:
    """Return the extra variables as they were typed, and a line for each parameter that a vault encrypts.

    CLIARGS is not parsed, and the task's variables are templates by now, so neither is used. Only the verb's parameters
    keep their values, so that no secret among the others is passed on.
    """
    parameters = {"_raw_params", *(parameter.name for parameter in VERBS[verb])}
    extra_vars: dict[str, Any] = {}
    lines = []
    given = load_extra_vars(loader)
    texts = [str(text) for text in context.CLIARGS.get("extra_vars") or ()]
    typed = {name for text in texts if not text.startswith("@") for name in _variables_of(text, loader)}
    known = without_launch(verb, given, typed)
    for name, raw in given.items():
        if name not in known:
            continue
        if name not in parameters:
            extra_vars[str(name)] = None
        elif refused := refuse_encrypted([(str(name), raw)]):
            lines += refused
        else:
            extra_vars[str(name)] = transform_to_native_types(raw)
    return extra_vars, lines


def _node(name: str, variables: Mapping[str, Any]) -> InventoryHost:
    address = variables.get("ansible_host")
    return InventoryHost(name=str(name), address=str(address) if address else None, port=variables.get("ansible_port"))


def _situation(experiments: str, loader: Any) -> Situation:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        user = str(os.getuid())
    texts = tuple(str(text) for text in context.CLIARGS.get("extra_vars") or ())
    return Situation(
        now=datetime.now(UTC),
        nonce=secrets.token_hex(16),
        experiments=experiments,
        host=socket.gethostname(),
        user=user,
        argv=tuple(sys.argv),
        extra_vars_options=texts,
        policy=tuple(carried_variables((text, _variables_of(text, loader)) for text in texts)),
        versions={"muster": _version(), "ansible_core": ansible_core_version, "python": platform.python_version()},
        environment=_environment(),
    )


def _variables_of(text: str, loader: Any) -> dict[str, Any]:
    """Return the variables of one -e, read as `load_extra_vars` does, which has accepted it."""
    if text.startswith("@"):
        return dict(loader.load_from_file(text[1:]))
    return dict(loader.load(text) if text[:1] in ("[", "{") else parse_kv(text))


def _environment() -> dict[str, str]:
    """Return the variables that the next command needs; they may be set for this command only."""
    kept = {
        "ANSIBLE_CONFIG": os.environ.get("ANSIBLE_CONFIG"),
        "ANSIBLE_INVENTORY": os.environ.get("ANSIBLE_INVENTORY"),
        "ANSIBLE_COLLECTIONS_PATH": _collections(),
    }
    if kept["ANSIBLE_CONFIG"] and os.path.realpath(kept["ANSIBLE_CONFIG"]) == os.path.realpath("ansible.cfg"):
        kept["ANSIBLE_CONFIG"] = None  # Ansible finds it here anyway
    return {name: value for name, value in kept.items() if value}


def _collections() -> str | None:
    """Return ANSIBLE_COLLECTIONS_PATH for the next command; None if Ansible finds the collection by its name anyway.

    Ansible also searches next to launch.yml, so launch.yml works from anywhere, but `muster.train.status` does not.
    """
    paths, origin = constants.config.get_config_value_and_origin("COLLECTIONS_PATHS")
    beside, name = Path(os.path.abspath(__file__)).parents[5], Path("ansible_collections", "muster", "train")
    installed = any(Path(path, name).is_dir() for path in paths)
    home = os.path.expanduser(os.environ.get("ANSIBLE_HOME") or "~/.ansible")
    by_default = (Path(home, "collections", name), Path("/usr/share/ansible/collections", name))
    if any(path.resolve() == COLLECTION for path in by_default):
        return None
    if installed and not origin.startswith("env"):
        return None
    return os.pathsep.join(([] if installed else [str(beside)]) + [path for path in paths if os.path.isdir(path)])


def _documented_variables() -> set[str]:
    """Return the variables of every entry point of every role of the collection."""
    return {
        name
        for specs in COLLECTION.glob("roles/*/meta/argument_specs.yml")
        for entry_point in yaml_load(specs.read_text(encoding="utf-8"))["argument_specs"].values()
        for name in (entry_point or {}).get("options") or {}
    }


def _version() -> str:
    """Return the collection's version: from galaxy.yml in a checkout, from MANIFEST.json where it is installed."""
    for name in ("MANIFEST.json", "galaxy.yml"):
        if text := read_text(COLLECTION / name):
            manifest = yaml_load(text)
            return str(manifest.get("collection_info", manifest)["version"])
    return "unknown"
