# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the points of a sweep, and of what is refused before any of them is launched."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._request.points import read_points
from ansible_collections.muster.train.tests.support.requests import NAMELESS, Outcome, RefusedRequest, make, refused

DEFAULTS = {"script": "train.py"}


def sweep(axes: object, **parameters: Any) -> dict[str, Any]:
    return {"sweep": axes, **parameters}


def test_every_combination_in_the_order_given() -> None:
    points = read_points({"threads": ["256", 512], "env.NCCL_PROTO": ["Simple", "LL128"]})
    assert points == [
        {"threads": 256, "env.NCCL_PROTO": "Simple"},
        {"threads": 256, "env.NCCL_PROTO": "LL128"},
        {"threads": 512, "env.NCCL_PROTO": "Simple"},
        {"threads": 512, "env.NCCL_PROTO": "LL128"},
    ]


def test_a_sweep_takes_the_parameters_of_a_launch_and_text() -> None:
    request = make(sweep('{"channels": [28]}', time_limit="5m", repeat="3"), verb="sweep", defaults=DEFAULTS)
    settings = {name: setting["value"] for name, setting in request["parameters"].items()}
    assert settings["sweep"] == {"channels": [28]}
    assert (settings["repeat"], settings["time_limit"], settings["script"]) == (3, 300, "train.py")
    assert request["run_id"] is None
    assert request["experiment"] is None


def case(name: str, axes: object, outcome: Outcome = NAMELESS, **parameters: Any) -> RefusedRequest:
    return refused(name, outcome, sweep(axes, **parameters), verb="sweep", defaults=DEFAULTS)


MANY = {"channels": list(range(1, 101)), "threads": [64, 128]}
CASES = [
    case("an unknown axis", {"chanels": [28]}),
    case("an axis that cannot be varied", {"follow": [True]}),
    case("the environment as an axis", {"env": [{"A": "1"}]}),
    case("an axis without values", {"channels": []}),
    case("an invalid value", {"channels": [28, "many"]}),
    case("a value twice", {"channels": [28, "28"]}),
    case("an invalid name of a variable", {"env.1A": ["x"]}),
    case("a variable that is not a string", {"env.A": [True]}),
    case("an axis that is not a list", {"channels": 28}),
    case("a variable without env", {"FOO": ["1"]}),
    case("a variable of Muster's own", {"env.RANK": ["1", "2"]}),
    case("no axes", {}, ("sweep", "extra_vars")),
    case("axes that are a word", "channels", ("sweep", "extra_vars")),
    case("nothing", None),
    case("too many runs", MANY, repeat=6),
    case(
        "a contradiction of many points, which is one line",
        {"launcher": ["torchrun", "python"], "nproc": [1, 2], "channels": [28, 42]},
    ),
    case("a module beside a script", {"module": ["package.train"]}, script="mine.py"),
    case("a value beside the sweep", {"channels": [28, 42]}, channels=3),
    case("a variable beside the sweep", {"env.A": ["1"]}, env={"A": "2", "B": "3"}),
    case("both profilers at a point", {"rocprof": [False, True], "nsys": [False, True]}),
    case("what a sweep decides", {"channels": [28]}, ("follow", None), follow=False),
    case("an unknown search", {"channels": [28]}, ("search", "extra_vars"), search="bayes"),
    case("a search by another name", {"channels": [28]}, ("strategy", None), strategy="tpe"),
    case(
        "torch's profiler, which the script switches on",
        {"channels": [28]},
        ("torch_profiler", None),
        torch_profiler=True,
    ),
    case("no trials", {"channels": [28]}, ("trials", "extra_vars"), search="random", trials=0),
    case("trials of a grid", {"channels": [28, 42]}, trials=1),
    case("more trials than combinations", {"channels": [28, 42]}, search="random", trials=3),
    case("more trials than the only combination", {"channels": [28]}, search="random", trials=2),
    case("tpe without an objective", {"channels": [28, 42]}, search="tpe"),
    case("prune without an objective", {"channels": [28, 42]}, prune=True),
    case("prune by what only the end shows", {"channels": [28, 42]}, prune=True, objective="-elapsed_s"),
    RefusedRequest(
        "what a launch would refuse", [NAMELESS] * 2, (sweep({"channels": [28]}, nnodes=3),), {"verb": "sweep"}
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_sweep_that_is_refused(case: RefusedRequest) -> None:
    assert case.refusals() == case.outcomes


def test_many_runs_are_to_be_confirmed() -> None:
    assert make(sweep(MANY, repeat=6, confirm_points=True), verb="sweep", defaults=DEFAULTS)["verb"] == "sweep"


def test_the_program_of_a_point_replaces_the_clusters() -> None:
    axes = {"module": ["package.train", "package.other"]}
    assert make(sweep(axes), verb="sweep", defaults=DEFAULTS)["verb"] == "sweep"


def test_the_clusters_defaults_are_those_of_a_launch() -> None:
    defaults = {**DEFAULTS, "follow": False, "lines": 5}
    assert make(sweep({"channels": [28]}), verb="sweep", defaults=defaults)["verb"] == "sweep"


def test_another_variable_may_be_given_beside_the_sweep() -> None:
    assert make(sweep({"env.A": ["1"]}, env={"B": "3"}), verb="sweep", defaults=DEFAULTS)["verb"] == "sweep"


def test_runs_with_and_without_a_profiler() -> None:
    asked = sweep({"rocprof": [False, True], "channels": [28, 42]}, stats=True, profile_ranks="0")
    request = make(asked, verb="sweep", defaults=DEFAULTS)
    axes: Any = request["parameters"]["sweep"]["value"]
    points = read_points(axes)
    assert [point["rocprof"] for point in points] == [False, False, True, True]
