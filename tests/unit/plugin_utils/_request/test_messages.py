# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of requests that are refused, in every case of their tests: tests/screens/messages/request.txt."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.muster.train.plugins.plugin_utils._request import on_end, run_id
from ansible_collections.muster.train.plugins.plugin_utils._request.host_list import parse_hosts, parse_node_list
from ansible_collections.muster.train.plugins.plugin_utils._request.variable_names import problem
from ansible_collections.muster.train.tests.support.screens import Message, errors, kept, page_of
from ansible_collections.muster.train.tests.unit.plugin_utils._request import (
    test_benchmark,
    test_conditions,
    test_host_list,
    test_on_end,
    test_parameters,
    test_points,
    test_request,
    test_request_refused,
    test_run_id,
)

CASES = {
    "refused": test_request_refused.CASES,
    "list": test_conditions.CASES,
    "sweep": test_points.CASES,
}
VALUES = {
    "launch": (test_parameters.LAUNCH, test_parameters.REFUSED),
    "logs": (test_parameters.LOGS, test_parameters.LOGS_REFUSED),
    "note, compare and report": (test_parameters.KEEPING, test_parameters.KEEPING_REFUSED),
}


def messages() -> Iterator[Message]:
    for subject, cases in CASES.items():
        yield from ((f"{subject}: {case.name}", case.lines()) for case in cases)
    for verb, (table, values) in VALUES.items():
        for name, raws in values.items():
            shown = (raw for raw in raws if raw != test_parameters.NESTED)
            yield f"values of {verb}: {name}", [str(test_parameters.refusal(table[name], raw)) for raw in shown]
    # The list of all parameters is left to the verbs' own test.
    refusals = [
        line.partition("; benchmark takes")[0]
        for raw, _name in test_benchmark.REFUSED
        for line in test_benchmark.lines(**raw)
    ]
    yield "values of benchmark", refusals
    for number, request in enumerate(test_request.relaunched(), start=1):
        items = request["parameters"].items()
        origins = [f"{name}: {item['origin']}" for name, item in items if item["layer"] != "default"]
        yield f"origins of values: launch {number} of a run", origins
    yield "run IDs: paths", errors(run_id.check, test_run_id.PATHS)
    yield "run IDs: others", errors(run_id.check, test_run_id.NO_RUN_IDS)
    yield "end of a run", errors(on_end.check, test_on_end.REFUSED)
    yield "hosts: invalid", errors(lambda text: parse_hosts([text]), test_host_list.INVALID)
    yield "hosts: too many", errors(parse_hosts, test_host_list.TOO_LARGE)
    yield "hosts: twice", errors(parse_hosts, test_host_list.TWICE)
    for name, text in test_host_list.NODE_LISTS.items():
        yield f"hosts: a list with {name}", errors(parse_node_list, [text])
    yield "names of variables", [str(problem(name)) for name in ("HF_TOKEN", "RANK", "MASTER_ADDR")]


def test_what_is_said_of_requests() -> None:
    text = page_of(messages())
    assert text == kept("messages/request.txt", text)
