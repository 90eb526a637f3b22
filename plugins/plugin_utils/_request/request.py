# SPDX-License-Identifier: GPL-3.0-or-later
"""The request: what was asked of a verb, checked before any node is contacted.

A pure function of the command line, the cluster's launch_defaults and the inventory. It returns
the request, where every parameter has its value and its origin, or raises `InvalidRequest` with all that is wrong.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

from ansible.utils.vars import transform_to_native_types

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._findings.errors import UserError, display, error_record
from .._findings.origin import DEFAULT, Layer
from . import benchmark, command_line, hints, points
from .carried import carried_variables
from .cluster_name import cluster_name
from .command_line import CommandLine
from .contradictions import contradictions
from .nodes import Inventory
from .nodes import errors as nodes_errors
from .run_id import make as make_run_id
from .run_id import subject_of
from .secret_options import SECRET_OPTION
from .settings import Refusal, Setting, refuse_unknown, resolve_parameters, setting_of, setting_values
from .submit import submit_errors
from .verbs import LAUNCHES, PROGRAMS, VERBS

SCHEMA = 1


class Request(TypedDict):
    """What the playbooks of all verbs work with, as the step `request.check` returns it."""

    schema: int
    verb: str
    run_id: str | None  # None means the newest; a launch always has one
    nonce: str | None  # 32 hexadecimal digits that distinguish launches with the same run ID; None for other verbs
    created: str  # in UTC: 2026-11-20T14:30:52Z
    parameters: dict[str, Setting]  # every parameter of the verb
    cluster: str  # its name, after the inventory
    nodes: list[str]  # in node-rank order, limited by nnodes; except for launch and sweep with the spares
    spares: list[str]  # for launch, which replace refused or lost nodes
    hosts: str  # the pattern for the play on nodes and spares
    is_in_queue: bool  # whether the run was submitted and is not on nodes yet, or on none that can be asked
    experiment: str | None  # the run's directory on the controller, an absolute path; None without a run ID
    experiments: str  # the directory of all of them
    controller: dict[str, str]  # host and user
    command: str  # with shell quoting; extra variables that may be secret are left out
    call: str  # the start of the next commands, which finds the same inventories and this collection
    environment: dict[str, str]  # the variables in call
    options: list[str]  # the options in call, word by word
    versions: dict[str, str]  # of muster, ansible_core and python on the controller


class InvalidRequest(UserError):
    """Everything that is wrong with a request, one line each."""

    def __init__(self, reasons: Iterable[str | Refusal]) -> None:
        self.reasons = tuple(reasons)
        super().__init__("\n".join(map(clean, self.reasons)))

    def records(self) -> list[dict[str, str | None]]:
        """Return them as the errors of a document."""
        return [
            reason.record() if isinstance(reason, Refusal) else error_record(clean(reason)) for reason in self.reasons
        ]


def make_request(
    verb: str,
    line: CommandLine,
    *,
    extra_vars: Mapping[str, object],
    defaults: object,
    inventory: Inventory,
    experiments: str,
    inventory_variables: Iterable[str] = (),
    earlier: object = None,
    problems: Iterable[str] = (),
    is_in_queue: bool = False,
    makes_nodes: bool = False,
) -> Request:
    """Return the request, or raise InvalidRequest with the problems that are known already and all others.

    extra_vars are `given_variables`, and inventory_variables the names of those that the inventory uses. experiments is
    an absolute path, and earlier the plan of a run that is launched again, if known. A run that is_in_queue needs no
    nodes, nor does a verb that makes_nodes.
    """
    launch, sweep, submit = verb in LAUNCHES, verb == "sweep", verb == "submit"
    lines: list[str | Refusal] = [*problems, *command_line.errors(verb, line)]
    if words := extra_vars.get("_raw_params"):
        # Where Ansible puts the words of an unquoted value with blanks.
        lines.append(
            f"-e: {display(words)} is not NAME=VALUE; quote a value with spaces: -e \"NAME='two words'\", "
            "or give one JSON object: -e '{\"NAME\": ...}'"
        )
    refusals = refuse_unknown(verb, extra_vars, {*line.documented, *inventory_variables})
    defaults = transform_to_native_types(defaults, redact=False) if launch or sweep or submit else {}
    settings = resolve_parameters(verb, extra_vars, line.environment, defaults, refusals, earlier)
    if verb in PROGRAMS:
        settings.update(benchmark.decided(verb))
    lines += refusals
    if not is_in_queue and (inventory.nodes or not makes_nodes):
        lines += nodes_errors(inventory, verb, line.inventories, line.without_nodes)
    if sweep or submit:
        lines += points.errors(settings, inventory) if sweep else submit_errors(settings, line)
    else:
        lines += contradictions(verb, settings, inventory)
    if lines:
        raise InvalidRequest(lines)
    values = setting_values(settings)
    # Only a launch distinguishes spares from nodes, all other verbs contact both.
    spares = [node.name for node in inventory.spares]
    nnodes = None if sweep else _number(values.get("nnodes"))
    nodes = inventory.names[:nnodes] + ([] if launch or sweep else spares)
    if launch and values["launcher"] == "python" and values["nproc"] is None:
        settings["nproc"] = setting_of(1, DEFAULT)
    run_id = _text(values.get("run_id"))
    if (launch or submit) and not run_id:
        numbers = _number(values["channels"]), _number(values["threads"])
        subject = subject_of(*numbers, _text(values["script"]), _text(values["module"]))
        subject = "_".join([verb, *filter(None, [_text(values.get("collective"))])]) if verb in PROGRAMS else subject
        run_id = make_run_id(subject, line.now, _text(values["label"]), line.nonce)
    # A discover writes an inventory; another one would be merged with it.
    options = hints.options_of(line.argv, carried_variables(line.options), inventories=verb != "discover")
    return {
        "schema": SCHEMA,
        "verb": verb,
        "run_id": run_id,
        "nonce": line.nonce if launch else None,
        "created": f"{line.now:%Y-%m-%dT%H:%M:%SZ}",
        "parameters": settings,
        "cluster": cluster_name(line.inventories),
        "nodes": nodes,
        "spares": spares if launch else [],
        "hosts": "localhost" if is_in_queue else _pattern(nnodes, inventory),
        "is_in_queue": is_in_queue,
        "experiment": posixpath.join(experiments, run_id) if run_id else None,
        "experiments": experiments,
        "controller": {"host": line.host, "user": line.user},
        "command": _assignments(verb, settings, line.environment)
        + command_again(line.argv, [text for text, _variables in line.options]),
        "call": hints.call_of(options, line.next_environment),
        "environment": dict(line.next_environment),
        "options": options,
        "versions": dict(line.versions),
    }


def _pattern(nnodes: int | None, inventory: Inventory) -> str:
    """Return the host pattern of the first nodes (None: of all) and the spares."""
    nodes = "nodes" if nnodes in (None, len(inventory.nodes)) else f"nodes[0:{nnodes - 1}]"
    return f"{nodes}:spares" if inventory.spares else nodes


def _assignments(verb: str, settings: Mapping[str, Setting], environment: Mapping[str, str]) -> str:
    """Return the environment variables that gave parameters their values, as typed in front of a command."""
    return "".join(
        f"{parameter.environment}={shlex.quote(environment[parameter.environment])} "
        for parameter in VERBS[verb]
        if parameter.environment and settings[parameter.name]["layer"] == Layer.ENVIRONMENT
    )


def command_again(argv: Sequence[str], options: Iterable[str]) -> str:
    """Return the command to type again, without the extra variables that may be secret."""
    words = [posixpath.basename(argv[0]), *argv[1:]]
    for option in options:
        # The name of a file (@FILE) is not secret; any other text that mentions a secret is removed entirely.
        if not option.startswith("@") and SECRET_OPTION.search(option):
            words = [word.replace(option, "<redacted>") for word in words]
    return shlex.join(words)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
