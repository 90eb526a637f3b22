# SPDX-License-Identifier: GPL-3.0-or-later
"""The first step of every verb: what was typed is checked before any node is contacted.

Its values come from -e, from the environment and from the cluster's launch_defaults, in this order, and are used as
they were typed: a template in them is text. A run that is launched again with its run ID keeps what was given for it,
as its plan.json has it. All that is wrong is said at once, a line for each mistake.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.known import parse_json

from .._action.files import read_text
from .._action.private import try_writing
from .._cluster.ports import DEFAULT_RANGE, read_range
from .._findings.errors import UserError
from .._request.command_line import given_variables
from .._request.encrypted import refuse_encrypted
from .._request.hints import command
from .._request.nodes import Inventory, InventoryHost
from .._request.request import Request, make_request
from .._request.run_id import check as check_run_id
from .._request.run_id import is_new
from .._request.settings import named_in_templates, values
from .._request.verbs import DEPLOYING, LAUNCHES, VERBS, parameter_names
from .._results.ranks import possible_heads
from .._slurm.submission import Submission
from .._text.plain import plain
from .openshift import IMAGE, NO_HOST, pod_problems
from .step import Conclude, Conclusion, Play
from .submitted import OF_QUEUE, read_submission

EXPERIMENTS, DEFAULTS, PORT_RANGE = "launch_experiments_dir", "launch_defaults", "launch_port_range"
ADDRESS = ("ansible_host", "ansible_port")
# The verbs that show or save the ranks' environment, and the variables of a node that it comes from.
SAVING = (*LAUNCHES, "sweep", "submit", "detect", "preflight")
SAVED_OF_NODE = ("launch_env", "launch_node_env")
# The verbs that record. Launch and collect are of no use where nothing can be written; follow only warns.
RECORDING = (*LAUNCHES, "sweep", "accept", "submit", "follow", "collect", "stacks")


@functools.partial(Conclude, makes_request=True)
def check(play: Play) -> Conclusion:
    """Check the request of the verb that the playbook names in launch__verb.

    The result has the request, a token that distinguishes it from those of other verbs in this command, and the nodes
    of which one is the head of the run. The verbs that show an environment also get the cluster's launch_defaults, and
    preflight the first port of a run, None if their range is not valid.
    """
    line, verb = play.read_command_line(), play.read_policy(["launch__verb"]).get("launch__verb")
    if verb not in VERBS:
        raise UserError(f"launch__verb: expected one of {', '.join(VERBS)}, saw {verb!r}; import the verb's playbook")
    groups = [list(play.groups.get(group, [])) for group in ("nodes", "spares")]
    nodes, spares = groups
    others = [name for name, members in play.groups.items() if members and name not in ("all", "nodes", "spares")]
    # The cluster's policy is its first node's; `list` works without a cluster, and before a job has nodes.
    read = functools.partial(play.read_tagged, nodes[0]) if nodes else functools.partial(_read_group, play)
    policy = read([EXPERIMENTS, DEFAULTS])
    experiments = os.path.abspath(os.path.expanduser(str(policy.get(EXPERIMENTS) or "experiments")))
    defaults = policy.get(DEFAULTS, {})
    hosts = {
        host: play.read_tagged(host, [*ADDRESS, *(SAVED_OF_NODE if verb in SAVING else ())])
        for host in itertools.chain(*groups)
    }
    extra_vars, problems = given_variables(verb, line)
    if verb in SAVING:
        saved = [(name, host[name]) for host in hosts.values() for name in SAVED_OF_NODE if name in host]
        problems += refuse_encrypted([(DEFAULTS, defaults), *saved])
    plan = _plan(experiments, extra_vars.get("run_id"))
    submission = read_submission(experiments, extra_vars.get("run_id"))
    has_pods = verb in DEPLOYING and IMAGE in play.read_policy([IMAGE])
    if verb in DEPLOYING:
        problems += pod_problems(verb, has_pods, is_of_nodes=IMAGE in read([IMAGE]))
    is_in_queue = submission is not None and verb in OF_QUEUE and not _is_on_nodes(submission, plan, groups, verb)
    request = make_request(
        verb,
        line,
        extra_vars=extra_vars,
        defaults=defaults,
        inventory=Inventory(_hosts(nodes, hosts), _hosts(spares, hosts), tuple(others)),
        experiments=experiments,
        inventory_variables=_inventory_variables(play, extra_vars.keys() - {*parameter_names(verb), *line.documented}),
        earlier=plan if verb in ("launch", "submit") else None,
        problems=problems,
        is_in_queue=is_in_queue,
        makes_nodes=has_pods,
    )
    warnings, run_id = _recording_warnings(play, request), str(request["run_id"])
    is_known = plan is not None or submission is not None
    if verb == "launch" and extra_vars.get("run_id") and not is_known and not is_new(run_id, line.now):
        warnings.append(
            f"there is no plan of {run_id} in {experiments}: if it was launched before, its parameters are not known "
            f"here; to reuse them, collect it first: {command('collect', run_id, request['call'])}"
        )
    result: dict[str, Any] = {
        "request": request,
        "request_token": line.nonce,
        "heads": ["localhost"] if is_in_queue else possible_heads(plan, nodes, spares),
    }
    if verb in SAVING:
        result["defaults"] = plain(defaults or {})
    if verb in DEPLOYING:
        # With `days` only old runs are removed.
        changes_pods = has_pods and values(request).get("days") is None
        result |= {"changes_pods": changes_pods, "pods": ":".join(filter(play.groups.get, ("nodes", "spares")))}
        if not changes_pods or not result["pods"]:
            result["pods"] = NO_HOST
    if verb == "preflight":
        result["first_port"] = _first_port(read([PORT_RANGE]))
    return Conclusion(result=result, warnings=warnings)


def _read_group(play: Play, names: Sequence[str]) -> dict[str, Any]:
    """Return variables as a node would have them, where there is none."""
    return {**play.read_policy(names), **play.read_group("nodes", names)}


def _hosts(names: Iterable[str], variables: Mapping[str, Mapping[str, Any]]) -> tuple[InventoryHost, ...]:
    addresses = ((name, *(variables[name].get(variable) for variable in ADDRESS)) for name in names)
    return tuple(InventoryHost(str(name), str(address) if address else None, port) for name, address, port in addresses)


def _inventory_variables(play: Play, names: Collection[str]) -> set[str]:
    """Return those of the names that a template of the inventory has: they are the user's own variables."""
    hosts = dict.fromkeys(itertools.chain.from_iterable(play.groups.values())) if names else ()
    return named_in_templates(names, map(play.read_raw, hosts))


def _plan(experiments: str, run_id: object) -> dict[str, Any] | None:
    """Return the plan of a run that is here, None without a valid run ID."""
    if run_id is None:
        return None
    try:
        plan = parse_json(read_text(Path(experiments, check_run_id(str(run_id)), "plan.json")))
    except ValueError:
        return None
    return plan if isinstance(plan, dict) else None


def _is_on_nodes(
    submission: Submission, plan: Mapping[str, Any] | None, groups: Iterable[Collection[str]], verb: str
) -> bool:
    """Whether nodes are asked about a submitted run, not Slurm: the inventory has some on which it was launched."""
    if plan is None or verb == "follow":  # which reads what the launch in the job prints
        return False
    return submission.is_launched(plan) and not {*itertools.chain(*groups)}.isdisjoint(plan.get("nodes") or ())


def _first_port(policy: Mapping[str, Any]) -> int | None:
    """Return the first port of runs; None if the range is not valid, which the checks report with its reason."""
    try:
        return (read_range(str(policy[PORT_RANGE])) if PORT_RANGE in policy else DEFAULT_RANGE)[0]
    except ValueError:
        return None


def _recording_warnings(play: Play, request: Request) -> list[str]:
    """Make the directory of a launch; return a warning where a verb that can do without cannot record, else raise."""
    verb = request["verb"]
    if verb not in RECORDING:
        return []
    try:
        is_made = verb in (*LAUNCHES, "sweep", "accept", "submit") and not play.is_checked
        try_writing(Path(request["experiments"]), EXPERIMENTS, is_made)
        if request["experiment"]:
            try_writing(Path(request["experiment"]), EXPERIMENTS, make=False)
    except UserError as error:
        if verb != "follow":
            raise
        return [str(error)]
    return []
