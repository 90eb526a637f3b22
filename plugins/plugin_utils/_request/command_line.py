# SPDX-License-Identifier: GPL-3.0-or-later
"""The command that a person typed: which of its variables a verb reads, and what is wrong with its options."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

from ansible.utils.vars import transform_to_native_types

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen

from .._findings.errors import display
from .carried import without_launch
from .encrypted import refuse_encrypted
from .verbs import LAUNCHES, TAGS, parameter_names

# What to do instead of --limit.
LIMIT_ADVICE = {
    **dict.fromkeys(("sweep", "accept"), "use -e nnodes=N for fewer nodes"),
    **dict.fromkeys(LAUNCHES, "Ansible would silently leave out nodes, use -e nnodes=N for fewer nodes"),
    "logs": "logs reads all nodes of a run, leave it out or show one node's lines with -e node=NAME",
    "gpus": "gpus shows all nodes of the cluster, leave it out",
    "detect": "detect compares all nodes of the cluster, leave it out",
    "rdma": "rdma compares all nodes of the cluster, leave it out or show one node with -e node=NAME",
    "preflight": "preflight compares all nodes of the cluster, leave it out",
    "setup": "its preflight compares all nodes of the cluster, leave it out or select a part with --tags",
    **{
        verb: f"{verb} contacts no node, leave it out"
        for verb in ("list", "note", "compare", "report", "doctor", "import", "submit")
    },
    "discover": "discover contacts the hosts that it is given, leave it out",
    "scale": "scale contacts no node, leave it out",
    "teardown": "teardown contacts all nodes of the cluster, leave it out",
}


@frozen
class CommandLine:
    """When, where, by whom and with what command a verb was called, and what the collection there knows.

    options are the texts given with -e, as they are in argv, each with its variables, and extra_vars is what all of
    them give; the values have Ansible's tags. environment is the command's, and next_environment what of it, and of
    Ansible's configuration, the next command needs: without it that finds other nodes, or no collection.
    """

    argv: Sequence[str] = ("ansible-playbook",)
    options: Sequence[tuple[str, Mapping[str, object]]] = ()
    extra_vars: Mapping[str, object] = field(default_factory=dict)
    inventories: Sequence[str] = ()
    limit: str | None = None
    tags: Sequence[str] = ()  # that --tags selects; none where it selects all
    start_at_task: str | None = None
    play_variables: Collection[str] = ()  # the names in `vars` of import_playbook
    documented: Collection[str] = ()  # the variables of every role of this collection
    environment: Mapping[str, str] = field(default_factory=dict)
    next_environment: Mapping[str, str] = field(default_factory=dict)
    host: str = ""
    user: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    without_nodes: Sequence[str] = ()  # why inventories have no nodes
    of_slurm: Sequence[str] = ()  # the inventories that are allocations of Slurm
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    nonce: str = field(default_factory=lambda: secrets.token_hex(16))


def given_variables(verb: str, line: CommandLine) -> tuple[dict[str, object], list[str]]:
    """Return the extra variables as they were typed, and a line for each parameter that a vault encrypts.

    Only the verb's parameters keep their values, so that no secret among the others is passed on.
    """
    typed = {name for text, variables in line.options if not text.startswith("@") for name in variables}
    known, parameters = without_launch(verb, line.extra_vars, typed), ["_raw_params", *parameter_names(verb)]
    given: dict[str, object] = {}
    lines: list[str] = []
    for name, raw in line.extra_vars.items():
        if name not in known:
            continue
        if name in parameters and (refused := refuse_encrypted([(name, raw)])):
            lines += refused
        else:
            given[str(name)] = transform_to_native_types(raw) if name in parameters else None
    return given, lines


def errors(verb: str, line: CommandLine) -> list[str]:
    """Return a line for each option and variable that would have no effect, or the wrong one.

    An option that skips tasks lets the others succeed without doing anything, and of `vars` of an import_playbook only
    the plays would know.
    """
    lines = []
    # A part of a verb works on any of the nodes.
    if line.limit and not (verb in TAGS and line.tags):
        advice = LIMIT_ADVICE.get(verb, f"{verb} contacts all nodes of a run, leave it out")
        lines.append(f"--limit: expected none, saw {display(line.limit)}; {advice}")
    if verb in TAGS and not {*line.tags} <= {*TAGS[verb]}:
        lines.append(f"--tags: expected {', '.join(TAGS[verb])}, saw {','.join(line.tags)!r}; correct it")
    elif verb not in TAGS and line.tags:
        lines.append(f"--tags: expected none, saw {','.join(line.tags)!r}; the tasks of a verb have no tags, remove it")
    if line.start_at_task:
        lines.append(f"--start-at-task: expected none, saw {line.start_at_task!r}; a verb runs as a whole, remove it")
    parameters = {*parameter_names(verb)}
    # The roles of the setup read their variables from its play.
    policy = set() if verb == "setup" else {name for name in line.documented if "__" not in name}
    return lines + [
        f"{name}: set by `vars` of import_playbook, which a verb does not read; give it with -e {name}=..., or set "
        + ("it in launch_defaults" if name in parameters else "it for the group 'nodes' of the inventory")
        for name in sorted({*line.play_variables} & (parameters | policy) - line.extra_vars.keys())
    ]
