# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the spec of the verbs' parameters."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.plugin_utils._request import parameters, verbs

LAUNCH = {parameter.name: parameter for parameter in verbs.VERBS["launch"]}


def test_the_launch_parameters() -> None:
    assert " ".join(LAUNCH) == (
        "channels threads nproc nnodes config config_name config_option script module script_args launcher "
        "launcher_args label master_port max_restarts env follow sync wait all rocprof stats rocprof_input nsys "
        "profiler_args profile_ranks metrics_pattern on_end lines time_limit hang_watch hang_action telemetry "
        "verify_transport mode page output run_id"
    )


def test_the_other_verbs() -> None:
    launching = (*verbs.LAUNCHES, "sweep", "accept", "submit")
    names = {verb: [p.name for p in table] for verb, table in verbs.VERBS.items() if verb not in launching}
    assert names == {
        "status": ["run_id", "all", "output"],
        "shell": ["run_id", "rank", "node", "output"],
        "stacks": ["run_id", "rank", "output"],
        "logs": ["run_id", "output", "lines", "node", "rank", "grep", "follow"],
        "follow": ["run_id", "lines", "all", "output"],
        "stop": ["run_id", "all", "output"],
        "collect": ["run_id", "all", "output"],
        "list": ["run_id", "where", "sort", "last", "output"],
        "note": ["run_id", "note", "output"],
        "compare": ["runs", "last", "output"],
        "import": ["source", "output"],
        "report": ["run_id", "sweep", "against", "over", "where", "last", "objective", "output"],
        "doctor": ["run_id", "file", "output"],
        "gpus": ["all", "output"],
        "rdma": ["node", "output", "page", "mode"],
        "detect": ["output", "page", "mode"],
        "discover": ["cluster", "nodes", "hosts", "node_list", "user", "accept_keys", "force", "output"],
        "setup": ["output", "page", "mode"],
        "scale": ["replicas", "output"],
        "teardown": ["images", "volumes", "days", "output"],
        "preflight": ["nnodes", "output", "page", "mode"],
    }


def test_a_benchmark_takes_what_is_not_about_the_program_of_a_launch() -> None:
    assert " ".join(parameter.name for parameter in verbs.VERBS["benchmark"]) == (
        "collective scope min_bytes max_bytes factor dtype warmup iterations check backend channels threads nproc "
        "nnodes label master_port env all on_end lines time_limit hang_watch hang_action telemetry verify_transport "
        "mode output"
    )


def test_pairs_take_the_same_of_a_launch() -> None:
    names = [parameter.name for parameter in verbs.VERBS["pairs"]]
    assert names[:5] == ["rounds", "bytes", "tolerance", "pair_limit", "backend"]
    of_benchmark = [parameter.name for parameter in verbs.VERBS["benchmark"]]
    assert names[4:] == of_benchmark[of_benchmark.index("backend") :]


def test_an_acceptance_takes_what_its_stages_take() -> None:
    names = [parameter.name for parameter in verbs.VERBS["accept"]]
    assert names[:5] == ["max_bytes", "iterations", "rounds", "tolerance", "backend"]
    assert set(names[4:]) == {p.name for p in verbs.OF_PROGRAMS} - {"label", "all", "on_end", "lines"} | {"backend"}


def test_a_sweep_takes_what_each_of_its_runs_may_have() -> None:
    names = [parameter.name for parameter in verbs.VERBS["sweep"]]
    assert names[:5] == ["sweep", "repeat", "shuffle", "objective", "search"]
    assert names[5:11] == ["trials", "prune", "max_failures", "pause", "confirm_points", "preflight"]
    assert set(LAUNCH) - set(names) == {"follow", "all", "lines", "page", "run_id"}


def test_a_submission_takes_what_its_launch_and_its_job_may_have() -> None:
    names = [parameter.name for parameter in verbs.VERBS["submit"]]
    of_job = "partition time account qos reservation constraint exclude gpus gres exclusive sbatch_options"
    assert " ".join(names[:11]) == of_job
    assert set(LAUNCH) - set(names) == {"follow", "all", "wait", "lines", "page"}


def test_the_environment_variables() -> None:
    assert {p.environment: p.name for p in LAUNCH.values() if p.environment} == {
        "CHANNELS": "channels",
        "THREADS": "threads",
        "CONFIG_FILE": "config",
        "NPROC_PER_NODE": "nproc",
        "LABEL": "label",
        "MASTER_PORT": "master_port",
    }


def test_the_defaults_are_valid_values() -> None:
    for table in verbs.VERBS.values():
        for parameter in table:
            if parameter.default is not None:
                assert parameters.read(parameter, parameter.default) == parameter.default, parameter.name


def test_the_built_in_default_is_a_copy() -> None:
    first = LAUNCH["env"].built_in()
    assert isinstance(first, dict)
    first["X"] = "1"
    assert LAUNCH["env"].built_in() == {}


def test_every_type_can_be_read_and_is_explained() -> None:
    for table in verbs.VERBS.values():
        for parameter in table:
            assert parameter.type in parameters.READERS
            assert parameters.expected(parameter)
