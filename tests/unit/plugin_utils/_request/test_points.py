# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the points of a sweep, and of what is refused before any of them is launched."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._request.points import read_points
from ansible_collections.muster.train.tests.support.requests import make, only_line, refused

DEFAULTS = {"script": "train.py"}


def sweep(axes: object, **parameters: Any) -> dict[str, Any]:
    return {"sweep": axes, **parameters}


def line(axes: object, **parameters: Any) -> str:
    return only_line(sweep(axes, **parameters), verb="sweep", defaults=DEFAULTS)


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


@pytest.mark.parametrize(
    ("axes", "text"),
    [
        ({"chanels": [28]}, "sweep: 'chanels' cannot be varied; did you mean 'channels'? expected env.NAME or one of "),
        ({"follow": [True]}, "sweep: 'follow' cannot be varied; expected env.NAME or one of channels, config, "),
        ({"env": [{"A": "1"}]}, "sweep: 'env' cannot be varied; "),
        ({"channels": []}, "sweep: channels: expected a list with at least one value, saw []"),
        ({"channels": [28, "many"]}, "sweep: channels: expected a whole number from 1 to 128, saw 'many'"),
        ({"channels": [28, "28"]}, "sweep: channels: 28 is given twice; give it once"),
        ({"env.1A": ["x"]}, "sweep: env.1A: "),
        ({"env.A": [True]}, "sweep: env.A: expected a string (in quotes) without control characters, saw True"),
        ({"channels": 28}, "sweep: channels: expected a list with at least one value, saw 28"),
        ({"FOO": ["1"]}, "sweep: 'FOO' cannot be varied; did you mean 'env.FOO'? expected env.NAME or one of "),
        ({"env.RANK": ["1", "2"]}, "sweep: env.RANK: RANK is set by Muster"),
        ({}, "sweep: expected a list of values for each launch parameter or env.NAME, such as -e "),
        ("channels", "sweep: expected a list of values for each launch parameter or env.NAME, such as -e "),
        (None, 'sweep: no values were given; give -e \'{"sweep": {"channels": [28, 42]}}\''),
    ],
)
def test_a_sweep_that_is_refused(axes: object, text: str) -> None:
    assert line(axes).startswith(text)


def test_many_runs_are_to_be_confirmed() -> None:
    axes = {"channels": list(range(1, 101)), "threads": [64, 128]}
    assert line(axes, repeat=6).startswith("sweep: expected at most 1000 runs, saw 1200; ")
    assert make(sweep(axes, repeat=6, confirm_points=True), verb="sweep", defaults=DEFAULTS)["verb"] == "sweep"


def test_a_contradiction_of_many_points_is_one_line() -> None:
    axes = {"launcher": ["torchrun", "python"], "nproc": [1, 2], "channels": [28, 42]}
    assert line(axes).startswith("nproc: the launcher python starts one rank per node, expected 1, saw 2 (-e sweep)")


def test_the_program_of_a_point_replaces_the_clusters() -> None:
    axes = {"module": ["package.train", "package.other"]}
    assert make(sweep(axes), verb="sweep", defaults=DEFAULTS)["verb"] == "sweep"
    assert line({"module": ["package.train"]}, script="mine.py").startswith(
        "script: expected a script or a module, saw 'mine.py'"
    )


def test_what_a_launch_would_refuse_is_refused_first() -> None:
    lines = refused(sweep({"channels": [28]}, nnodes=3), verb="sweep", defaults={})
    assert [text.partition(":")[0] for text in lines] == ["nnodes", "script"]


def test_the_clusters_defaults_are_those_of_a_launch() -> None:
    defaults = {**DEFAULTS, "follow": False, "lines": 5}
    assert make(sweep({"channels": [28]}), verb="sweep", defaults=defaults)["verb"] == "sweep"


def test_a_value_that_is_given_beside_the_sweep_is_refused() -> None:
    assert line({"channels": [28, 42]}, channels=3) == (
        "sweep: channels: -e channels gives a value, too; give only one of them"
    )
    assert line({"env.A": ["1"]}, env={"A": "2", "B": "3"}).startswith("sweep: env.A: -e env gives a value, too; ")
    assert make(sweep({"env.A": ["1"]}, env={"B": "3"}), verb="sweep", defaults=DEFAULTS)["verb"] == "sweep"


def test_what_a_sweep_decides_is_refused_with_the_reason() -> None:
    assert line({"channels": [28]}, follow=False) == (
        "follow: a sweep follows and shows each of its runs, and names them; remove it"
    )
