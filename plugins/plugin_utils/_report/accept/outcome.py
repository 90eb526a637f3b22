# SPDX-License-Identifier: GPL-3.0-or-later
"""How the stages of an acceptance went, judged by the documents of their commands; what is not known does not pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.document import as_number
from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import Record, as_dict

from ..._findings.finding import BAD
from ..._page.page import count
from ..._request.byte_size import size_text
from ..._sweep.outcome import first_error
from ..._text.table import names as names_text
from ..._text.table import one_line
from ..benchmark.text import bandwidth, curve_of, percent
from .profile import PAIRS, PREFLIGHT, SCOPES, StageThreshold

SCHEMA = 1
FILE = "accept.json"
PASS, FAIL, UNKNOWN = VERDICTS = ("pass", "fail", "unknown")
MOST_NAMES = 8
# What a plan finds where groups of ranks or pairs of nodes would have one member: there is nothing to measure.
ALONE = {"scope", "nodes"}
FEWEST_TO_COMPARE = 3  # of two nodes neither can be named as the slow one
SETUP = ("collective", "scope", "backend", "fabric", "nnodes", "nproc", "dtype", "torch", "library")


@frozen
class StageOutcome(Record):
    """What became of a stage.

    applies is false where there is nothing to measure, such as rails of one node: that is unknown, and decides nothing.
    measured is what the next acceptance is compared with, None where nothing was measured; errors are those of the
    stage's command.
    """

    name: str
    verdict: str
    reason: str
    applies: bool = True
    run_id: str | None = None
    elapsed_s: float | None = None
    threshold: StageThreshold | None = None
    measured: dict[str, Any] | None = None
    errors: list[dict[str, Any]] = field(default_factory=list)


def verdict_of(stages: Sequence[StageOutcome]) -> str:
    """Return the verdict on all stages: the worst of those that apply; no pass where no bandwidth was measured."""
    known = {stage.name: stage.verdict for stage in stages if stage.applies}
    if FAIL in known.values():
        return FAIL
    return UNKNOWN if UNKNOWN in known.values() or not known.keys() & SCOPES.keys() else PASS


def judge(name: str, document: Mapping[str, Any], threshold: StageThreshold | None) -> StageOutcome:
    """Judge a stage by the document of its command."""
    judged = {PREFLIGHT: _judge_preflight, PAIRS: _judge_pairs}
    verdict, reason, measured = judged[name](document) if name in judged else _judge_benchmark(document, threshold)
    errors, run_id = [as_dict(error) for error in document.get("errors") or ()], document.get("run_id")
    applies = not (measured is None and errors and {error.get("check") for error in errors} <= ALONE)
    if not applies:
        verdict, reason = UNKNOWN, f"does not apply: {errors[0].get('observed')}"
    elif verdict == PASS and document.get("failed"):
        verdict, reason = FAIL, first_error(document)
    elif name == PAIRS and verdict == UNKNOWN:
        applies = measured is None or len(measured["nodes"]) >= FEWEST_TO_COMPARE
    return StageOutcome(
        name,
        verdict,
        one_line(reason, 400),
        applies,
        str(run_id) if run_id else None,
        None,
        threshold,
        measured,
        errors,
    )


Judgment = tuple[str, str, dict[str, Any] | None]


def _judge_preflight(document: Mapping[str, Any]) -> Judgment:
    code = document.get("code")
    if code is None:
        return UNKNOWN, first_error(document), None
    worst: dict[str, str] = {}
    for result in map(as_dict, document["results"]):
        statuses = (*BAD, "pass", "skip")
        check, status = str(result["check"]), str(result["status"])
        worst[check] = min(worst.get(check, "skip"), status, key=statuses.index)
    properties = {
        str(row["property"]): {"majority": row["majority"], "odd": row["odd"]}
        for row in map(as_dict, document["properties"])
    }
    measured = {"nodes": sorted(document["nodes"]), "checks": worst, "properties": properties}
    failed = [check for check, status in worst.items() if status == ("fail" if code == 1 else "error")]
    if code:
        what = "failed" if code == 1 else "could not be checked"
        return (FAIL if code == 1 else UNKNOWN), f"{names_text(failed, MOST_NAMES)} {what}", measured
    warned, off = sum(status in BAD for status in worst.values()), len(document["off"])
    aside = f", {count(warned, 'check')} warned" if warned else ""
    aside += f", {off} off" if off else ""
    if not {"pass", "warn"} & {*worst.values()}:
        return UNKNOWN, f"no check was made{aside}", measured
    return PASS, f"no check failed{aside}", measured


def _judge_pairs(document: Mapping[str, Any]) -> Judgment:
    search = as_dict(document.get("pairs"))
    if not search:
        return FAIL, first_error(document), None
    slow = [_culprit(as_dict(culprit)) for culprit in search["culprits"]]
    measured = {
        **{name: search[name] for name in ("backend", "rounds", "torch", "library")},
        "nodes": [str(as_dict(node)["node"]) for node in search["by_node"]],
        "slow": slow,
    }
    if slow:
        return FAIL, f"slow or broken: {names_text(slow, MOST_NAMES)}", measured
    if search["is_bad"]:
        return FAIL, first_error(document), measured
    if search["reason"]:
        return UNKNOWN, str(search["reason"]), measured
    return PASS, f"nothing is slower than the rest by more than {search['tolerance']} % and noise", measured


def _culprit(culprit: Mapping[str, Any]) -> str:
    nodes, rail = " - ".join(map(str, culprit["nodes"])) or "all nodes", culprit["rail"]
    return nodes if rail is None else f"{nodes} rail {rail}"


def _judge_benchmark(document: Mapping[str, Any], threshold: StageThreshold | None) -> Judgment:
    benchmark = as_dict(document.get("benchmark"))
    if not benchmark:
        return FAIL, first_error(document), None
    sizes = curve_of(benchmark)
    size, busbw = max(sizes, key=lambda point: point[1], default=(0, 0.0))
    limit = as_dict(benchmark.get("limit"))
    gb_per_s = as_number(limit.get("gb_per_s"))
    measured = {
        **{name: benchmark.get(name) for name in SETUP},
        "busbw_gb_per_s": busbw,
        "bytes": size,
        "limit_gb_per_s": gb_per_s,
        "of_limit": busbw / gb_per_s if gb_per_s else None,
        "slowest": _slowest(document, benchmark, size),
        "sizes": [{"bytes": known, "busbw_gb_per_s": value} for known, value in sizes],
    }
    wrong = sum(as_dict(row).get("wrong") or 0 for row in benchmark["sizes"])
    if wrong:
        return FAIL, f"the results are wrong: {count(wrong, 'element')}", measured
    verdict, reason = _compared(measured, str(limit.get("reason")), threshold)
    fabric = as_dict(document.get("transport"))
    if fabric and fabric["verdict"] != PASS and benchmark["scope"] != "nodes":
        # A bandwidth by another fabric than that of the plan says nothing of the one that was ordered.
        verdict = FAIL if FAIL in (verdict, fabric["verdict"]) else UNKNOWN
        reason = f"{reason}; fabric {fabric['text']}"
    return verdict, reason, measured


def _compared(measured: Mapping[str, Any], limit_reason: str, threshold: StageThreshold | None) -> tuple[str, str]:
    """Compare what a benchmark reached with its threshold; without one, say how far from the limit it is."""
    busbw, part, slowest = measured["busbw_gb_per_s"], measured["of_limit"], measured["slowest"]
    of_limit = "the limit is not known" if part is None else f"{percent(part)} of the limit"
    reached = f"{bandwidth(busbw)} GB/s at {size_text(measured['bytes'])}, {of_limit}"
    where = f", the slowest is {slowest}" if slowest else ""
    if threshold is None:
        return UNKNOWN, f"no threshold; {reached}"
    if threshold.busbw_gb_per_s is not None and busbw < threshold.busbw_gb_per_s:
        return FAIL, f"{reached}, less than {bandwidth(threshold.busbw_gb_per_s)} GB/s{where}"
    if threshold.of_limit is not None:
        if part is None:
            return UNKNOWN, f"{reached}: {limit_reason}"
        if part < threshold.of_limit:
            return FAIL, f"{reached}, less than {percent(threshold.of_limit)}{where}"
    return PASS, reached


def _slowest(document: Mapping[str, Any], benchmark: Mapping[str, Any], size: int) -> str | None:
    """Return which group is the slowest at a size: a node, or a rail; None where all ranks are one group."""
    groups: list[Any] = next((row["groups"] for row in map(as_dict, benchmark["sizes"]) if row["bytes"] == size), [])
    if len(groups) < 2:
        return None
    first = int(min(map(as_dict, groups), key=lambda group: group["busbw_gb_per_s"])["ranks"][0])
    if benchmark["scope"] == "rails":
        return f"rail {first % benchmark['nproc']}"
    nodes = [as_dict(node) for node in document.get("nodes") or ()]
    names = {node.get("node_rank"): str(node.get("node")) for node in nodes}
    rank = first // int(benchmark["nproc"])
    return names.get(rank, f"node rank {rank}")
