# SPDX-License-Identifier: GPL-3.0-or-later
"""Acceptances for tests: the documents of their stages, made of reports of real parts."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._checks.report import document as preflight_document
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import error_record
from ansible_collections.muster.train.plugins.plugin_utils._report.accept.acceptance import Acceptance
from ansible_collections.muster.train.plugins.plugin_utils._report.accept.outcome import judge
from ansible_collections.muster.train.plugins.plugin_utils._report.accept.profile import STAGES, StageThreshold
from ansible_collections.muster.train.tests.support.benchmark_parts import benchmark
from ansible_collections.muster.train.tests.support.pair_networks import Network
from ansible_collections.muster.train.tests.support.pair_parts import outcome
from ansible_collections.muster.train.tests.support.preflight_parts import report

SOURCE = "https://example.org/figures"
# The benchmarks of these tests reach nine tenths of their limit, and the slowest rail about a third.
THRESHOLDS = {name: StageThreshold(SOURCE, 300.0) for name in ("intra", "all")} | {
    "rails": StageThreshold(SOURCE, None, 0.3)
}
SLOW = Network(3, 1, bandwidth={(1,): 4.0})


def documents(**changes: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the documents of stages that all pass."""
    known: dict[str, dict[str, Any]] = {
        "preflight": preflight_document(report("dgx_h100_ib")),
        "intra": {"run_id": "run_intra", "benchmark": benchmark().to_dict()},
        "rails": {"run_id": "run_rails", "benchmark": benchmark(groups=4).to_dict()},
        "all": {"run_id": "run_all", "benchmark": benchmark().to_dict()},
        "pairs": {"run_id": "run_pairs", "pairs": outcome(Network(3, 1)).to_dict()},
    }
    return {**known, **changes}


def refused(check: str, observed: str) -> dict[str, Any]:
    """Return the document of a stage whose launch was refused."""
    return {"run_id": None, "errors": [error_record(f"{check}: {observed}", check=check, observed=observed)]}


def acceptance(
    stages: dict[str, dict[str, Any]] | None = None, thresholds: dict[str, StageThreshold] | None = None, **changes: Any
) -> Acceptance:
    """Return an acceptance whose stages have these documents."""
    known = documents() if stages is None else stages
    expected = THRESHOLDS if thresholds is None else thresholds
    judged = [judge(name, known[name], expected.get(name)) for name in STAGES]
    parts = {"accept_id": "accept_20261120_143052", "created": "2026-11-20T14:30:52Z", "cluster": "lab"}
    return Acceptance(**{**parts, "command": "accept", "is_complete": True, "stages": judged, **changes})
