# SPDX-License-Identifier: GPL-3.0-or-later
"""The request: what was asked of a verb, checked before any node is contacted.

A pure function of the raw extra variables, the environment, the cluster's launch_defaults and the inventory. It returns
the request, where every parameter has its value and its origin, or raises `InvalidRequest` with all that is wrong.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypedDict

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._findings.errors import UserError, display, error_record
from .._findings.origin import DEFAULT, Layer
from . import hints, points
from .cluster_name import cluster_name
from .contradictions import contradictions
from .nodes import Inventory
from .nodes import errors as nodes_errors
from .run_id import make as make_run_id
from .run_id import subject_of
from .secret_options import SECRET_OPTION
from .settings import Refusal, Setting, refuse_unknown, resolve_parameters, setting_of
from .verbs import VERBS

SCHEMA = 1


@frozen
class Situation:
    """When, where, by whom and with what command the verb was called."""

    now: datetime  # UTC
    nonce: str
    experiments: str  # absolute
    host: str
    user: str
    argv: tuple[str, ...]
    extra_vars_options: tuple[str, ...]  # the texts given with -e, as they are in argv
    versions: dict[str, str]
    policy: tuple[str, ...]  # of those texts, what the commands of other verbs need
    environment: Mapping[str, str]  # of Ansible: without it the next command finds other nodes, or no collection


class Request(TypedDict):
    """What the playbooks of all verbs work with."""

    schema: int
    verb: str
    run_id: str | None
    nonce: str | None
    created: str
    parameters: dict[str, Setting]
    cluster: str
    nodes: list[str]
    spares: list[str]
    hosts: str
    experiment: str | None
    experiments: str
    controller: dict[str, str]
    command: str
    call: str
    environment: dict[str, str]
    options: list[str]
    versions: dict[str, str]


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
    *,
    extra_vars: Mapping[str, object],
    environment: Mapping[str, str],
    defaults: object,
    documented: Collection[str],
    inventory: Inventory,
    situation: Situation,
    earlier: object = None,
) -> Request:
    """Return the request, or raise InvalidRequest. `earlier` is the plan of a run that is launched again, if known."""
    launch, sweep = verb == "launch", verb == "sweep"
    lines: list[str | Refusal] = []
    if words := extra_vars.get("_raw_params"):
        # Where Ansible puts the words of an unquoted value with blanks.
        lines.append(
            f"-e: {display(words)} is not NAME=VALUE; quote a value with spaces: -e \"NAME='two words'\", "
            "or give one JSON object: -e '{\"NAME\": ...}'"
        )
    refusals = refuse_unknown(verb, extra_vars, documented)
    defaults = defaults if launch or sweep else {}
    settings = resolve_parameters(verb, extra_vars, environment, defaults, refusals, earlier)
    lines += refusals
    lines += nodes_errors(inventory, verb)
    lines += points.errors(settings, inventory) if sweep else contradictions(verb, settings, inventory)
    if lines:
        raise InvalidRequest(lines)
    values = {name: setting["value"] for name, setting in settings.items()}
    # Only a launch distinguishes spares from nodes, all other verbs contact both.
    nodes = inventory.names if launch or sweep else [host.name for host in inventory.hosts]
    if launch:
        nodes = nodes[: _number(values["nnodes"])]
        if values["launcher"] == "python" and values["nproc"] is None:
            settings["nproc"] = setting_of(1, DEFAULT)
    run_id = _text(values.get("run_id"))
    if launch and not run_id:
        numbers = _number(values["channels"]), _number(values["threads"])
        subject = subject_of(*numbers, _text(values["script"]), _text(values["module"]))
        run_id = make_run_id(subject, situation.now, _text(values["label"]), situation.nonce)
    # A discover writes an inventory; another one would be merged with it.
    options = hints.options_of(situation.argv, situation.policy, inventories=verb != "discover")
    return {
        "schema": SCHEMA,
        "verb": verb,
        "run_id": run_id,
        "nonce": situation.nonce if launch else None,
        "created": f"{situation.now:%Y-%m-%dT%H:%M:%SZ}",
        "parameters": settings,
        "cluster": cluster_name(inventory.sources),
        "nodes": nodes,
        "spares": [node.name for node in inventory.spares] if launch else [],
        "hosts": _pattern(len(nodes) if launch else None, inventory),
        "experiment": posixpath.join(situation.experiments, run_id) if run_id else None,
        "experiments": situation.experiments,
        "controller": {"host": situation.host, "user": situation.user},
        "command": _assignments(verb, settings, environment)
        + command_line(situation.argv, situation.extra_vars_options),
        "call": hints.call_of(options, situation.environment),
        "environment": dict(situation.environment),
        "options": options,
        "versions": dict(situation.versions),
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


def command_line(argv: Sequence[str], extra_vars_options: Iterable[str]) -> str:
    """Return the command to type again, without the extra variables that may be secret."""
    words = [posixpath.basename(argv[0]), *argv[1:]]
    for option in extra_vars_options:
        # The name of a file (@FILE) is not secret; any other text that mentions a secret is removed entirely.
        if not option.startswith("@") and SECRET_OPTION.search(option):
            words = [word.replace(option, "<redacted>") for word in words]
    return shlex.join(words)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
