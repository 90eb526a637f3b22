# SPDX-License-Identifier: GPL-3.0-or-later
"""`launch`: all nodes are asked once for their facts, the run is planned here, and every node starts its part of it.

`gather` asks the nodes, and `plan` decides everything. In check mode that is all, and the plan is shown. `start` takes
its part of the plan to each node, whose runner waits there for the others. If a node does not start, `withdraw` stops
those that did, and `refuse` names it. Otherwise `announce` shows how to go on, and `record` begins the experiment.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.files import relative
from .._checks.launch import SHOWN
from .._checks.variables import VARIABLES, read_checks
from .._cluster.node import REACH, Node, Silent, read_answers
from .._cluster.policy import NAMES, ClusterPolicy
from .._cluster.silence import why_silent
from .._cluster.unreachable import is_known
from .._findings.errors import ReportedError, display, error_record
from .._findings.finding import Finding, PlanError
from .._findings.finding import lines as finding_lines
from .._findings.remedy import correct
from .._plan.facts import POLICY, facts_options
from .._plan.spares import plan_with_spares
from .._plan.start import start_options
from .._request.hints import hints
from .._results import documents, report
from .._text.plain import plain
from .._text.table import aligned
from .answers import OF_NODE
from .find import infos_of, launch_policy, shared_answer, subject
from .overview import ShownLines, shown_experiment
from .record import experiment_of, record_run
from .slurm_step import end_steps
from .step import Conclude, Conclusion, Play, Tone, WantedFile, ask

HINTS = ("follow", "stop", "status", "logs")
FACTS, PLAN = "launch__facts", "launch__plan"  # as the role registers them
READ = (*NAMES, *VARIABLES)
# Those that node_facts refuses where they are relative.
DIRECTORIES = ("launch_workdir", "launch_code_dir")


@ask("node_facts")
def gather(play: Play, node: str) -> dict[str, Any]:
    """Ask a node for the facts that a plan needs."""
    if len(play.hosts) > 1 and node == play.hosts[-1] and not play.is_checked:
        # Its worker would only wait while that of the first node builds node_facts.
        play.host.prepare_module("run")
    return facts_options(node, play.parameters, launch_policy(play, POLICY))


@Conclude
def plan(play: Play) -> Conclusion:
    """Plan the run from the facts of all nodes, without contacting one; the task's host must be the head."""
    variables = play.read_policy(READ)
    known, silent = _read_nodes(play, variables)
    cluster, faults = ClusterPolicy.read(variables)
    checks, refused = read_checks(variables)
    try:
        if faults or refused:
            raise PlanError([*faults, *refused])
        plan, left_out = plan_with_spares(play.request, cluster, known, silent, checks)
    except PlanError as error:
        return Conclusion(files=[*_page(play, error.findings, refused=True)], failure=error)
    findings = [Finding(**finding) for finding in plan["findings"]]
    shown = [*left_out, *(finding for finding in findings if finding.check in SHOWN)]
    conclusion = Conclusion(
        files=[*_page(play, [*left_out, *findings], refused=False)],
        warnings=finding_lines(dict.fromkeys(shown)),
        result={"plan": plan},
    )
    return _shown(play, plan, conclusion) if play.is_checked else conclusion


def _read_nodes(play: Play, of_head: Mapping[str, Any]) -> tuple[dict[str, Node], dict[str, Finding]]:
    """Return the nodes and spares that answered, with their policy, and a finding for each one that did not.

    of_head is the policy of the task's host, which alone has the role's defaults.
    """
    names = [*play.request["nodes"], *play.request["spares"]]
    values = {name: play.read_values(name, (*READ, *DIRECTORIES, *OF_NODE, *REACH)) for name in names}
    hosts = {name: {**values[name], FACTS: plain(play.read_answer(name, FACTS))} for name in names}
    known, silent = {}, {}
    for answer in read_answers(hosts, names, FACTS, OF_NODE):
        variables = values[answer.name]
        if isinstance(answer, Silent):
            silent[answer.name] = _relative_path(answer.name, variables) or _no_facts(answer)
        else:
            policy = {name: variables[name] for name in READ if name in variables}
            if answer.name == names[0]:
                policy = {**of_head, **policy}
            known[answer.name] = dataclasses.replace(answer, policy=policy)
    return known, silent


def _relative_path(node: str, variables: Mapping[str, Any]) -> Finding | None:
    """Return what is wrong with a directory that the node's facts need, by the name of its variable."""
    for variable in DIRECTORIES:
        path = str(variables.get(variable) or "~")
        if not path.startswith(("/", "~")):
            expected = "an absolute path on the node, or one that begins with ~"
            observed = f"it is {display(path)}"
            return Finding(variable, node, "fail", observed, expected, "node_facts", correct(variable))
    return None


def _no_facts(silent: Silent) -> Finding:
    if is_known(silent.message, silent.reason_key):
        return why_silent(silent)
    remedy = "fix it, or remove the node from the inventory"
    if not silent.asked:
        remedy = "run the whole playbook, with -e nnodes=N and not --limit for fewer nodes"
    return Finding("answer", silent.name, "error", silent.why, "its facts", "module node_facts", remedy)


def _page(play: Play, findings: Sequence[Finding], refused: bool) -> Iterator[WantedFile]:
    """Yield the page of what the plan found, if it is asked for."""
    if page := play.parameters.get("page"):
        # A launch without a page does not import this.
        from .._plan.page import render
        from .files import page_file

        path = Path(page).expanduser()
        yield page_file(play, path, render(len(play.request["nodes"]), findings, refused), f"  page: {relative(path)}")


def _shown(play: Play, plan: Mapping[str, Any], conclusion: Conclusion) -> Conclusion:
    """Show the plan in check mode: all of it with --diff, else its header."""
    # A launch does not show the plan, so it does not import this.
    from .._plan import text

    titles = {"before_header": "nothing", "after_header": f"the plan of {plan['run_id']}"}
    return dataclasses.replace(
        conclusion,
        lines=[] if play.shows_diff else ["", *text.header(plan)],
        document={"run_id": plan["run_id"], "world_size": plan["world_size"], "plan": plan},
        result={"plan": plan, "diff": {"before": "", "after": text.render(plan), **titles}},
        is_changed=True,
    )


def _plan_of(play: Play) -> Mapping[str, Any]:
    plan: Mapping[str, Any] = shared_answer(play, PLAN)["plan"]
    return plan


@ask("run", is_needed=lambda play, node: node in _plan_of(play)["nodes"])
def start(play: Play, node: str) -> dict[str, Any] | None:
    """Start a node's job; a spare may have none, and one that does not start does not fail the launch."""
    plan = _plan_of(play)
    if node not in plan["jobs"]:
        return None
    options = {
        "job": plain(plan["jobs"][node]),
        "key": play.derive_key(play.request["nonce"]),
        "secrets": play.read_policy(["launch_secrets"]).get("launch_secrets"),
        # The head keeps the plan, so that any controller can collect it.
        **({"plan": plain(plan)} if node == plan["head"]["node"] else {}),
    }
    return start_options(options)


@ask("run_stop")
def withdraw(play: Play, node: str) -> dict[str, Any] | None:
    """Stop what this launch has started on a node: of two launches of one run ID, none must stop the other."""
    if node not in _plan_of(play)["jobs"]:
        return None
    policy = launch_policy(play, ("launch_workdir", "launch_abort_grace", "launch_docker"))
    return {
        "workdir": policy["launch_workdir"],
        "run_id": play.request["run_id"],
        "nonce": play.request["nonce"],
        "grace": policy["launch_abort_grace"],
        "node": node,
        "docker": policy["launch_docker"],
    }


@Conclude
def refuse(play: Play) -> Conclusion:
    """Report which nodes failed to start."""
    run_id, _head = subject(play)
    end_steps(play)
    infos = infos_of(play)
    begun = shared_answer(play, "launch__slurm_step")
    why, lines = report.not_started(infos, begun.get("msg") or _joined(play).get("msg"))
    message = clean(f"{run_id} did not start: {why}")
    shown = [clean(f"{run_id} did not start:"), *lines] if lines else [message]
    return Conclusion(
        lines=[(line, Tone.ERROR) for line in shown],
        document=documents.with_cause(documents.of_run(run_id, infos), error_record(message)),
        failure=ReportedError(message),
        is_shown=True,
    )


@Conclude
def announce(play: Play) -> Conclusion:
    """Show the run ID and the next commands: whatever happens here, the user knows how to go on."""
    run_id, _head = subject(play)
    why = _joined(play).get("why")
    where = report.places([], shown_experiment(play, run_id))
    commands = aligned([*hints(run_id, play.request.get("call"), HINTS), *where])
    warning: ShownLines = ["", (clean(why), Tone.WARNING)] if why else []
    return Conclusion(
        lines=[*warning, "", f"run {clean(run_id)}", *commands],
        document=documents.of_run(run_id, infos_of(play), experiment=experiment_of(play, run_id)),
        result={"run_id": run_id},
    )


@Conclude
def record(play: Play) -> Conclusion:
    """Keep the plan, and what is known of the run; where it is not known whether it started, by the nodes' answers.

    is_followed says whether the launch goes on: where it is not known whether the run started, to fail at the least.
    """
    run_id, _head = subject(play)
    joined, plan = _joined(play), plain(_plan_of(play))
    phase = joined.get("phase") if joined.get("ended") or not joined.get("phase") else "running"
    infos = infos_of(play, nodes=[*plan["nodes"], *plan.get("spares", [])])
    record, is_followed = record_run(play, infos, run_id, plan, phase), play.parameters["follow"] or "why" in joined
    return Conclusion(files=record.files, links=record.links, result={"is_followed": is_followed})


def _joined(play: Play) -> dict[str, Any]:
    """Return how waiting for all nodes to join has ended."""
    joined: dict[str, Any] = plain(shared_answer(play, "launch__joined"))
    return joined
