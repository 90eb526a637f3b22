# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the reading of values: what each type takes and keeps to the letter, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import display
from ansible_collections.muster.train.plugins.plugin_utils._request import parameters, verbs
from ansible_collections.muster.train.plugins.plugin_utils._request.invalid_value import InvalidValue
from ansible_collections.muster.train.plugins.plugin_utils._request.variable_names import owned

LAUNCH = {parameter.name: parameter for parameter in verbs.VERBS["launch"]}
LOGS = {parameter.name: parameter for parameter in verbs.VERBS["logs"]}
KEEPING = {parameter.name: parameter for verb in ("report", "note", "compare") for parameter in verbs.VERBS[verb]}
RUN_IDS = [f"train_20261120_143052_{number:04x}" for number in range(21)]


@pytest.mark.parametrize(
    ("name", "raw", "value"),
    [
        ("channels", 42, 42),
        ("channels", "42", 42),
        ("channels", "1", 1),
        ("channels", 128, 128),
        ("threads", "512", 512),
        ("threads", 64, 64),
        ("nproc", "8", 8),
        ("master_port", 1024, 1024),
        ("master_port", "65535", 65535),
        ("max_restarts", "0", 0),
        ("follow", "no", False),
        ("follow", "True", True),
        ("follow", 0, False),
        ("launcher", "python", "python"),
        ("mode", "rdma", "rdma"),
        ("metrics_pattern", r"nll (?P<loss>\S+)", r"nll (?P<loss>\S+)"),
        ("time_limit", 1, 1),
        ("time_limit", "90", 90),
        ("time_limit", "90s", 90),
        ("time_limit", "30m", 1800),
        ("time_limit", "2h", 7200),
        ("time_limit", "1d", 86400),
        ("hang_watch", 0, 0),
        ("hang_watch", "5m", 300),
        ("hang_action", "keep", "keep"),
        *(("verify_transport", value, "warn") for value in (True, "true", "True", "warn", "yes")),
        *(("verify_transport", value, "off") for value in (False, "false", "off", "no")),
        ("verify_transport", "fail", "fail"),
        ("label", "baseline-1.2_x", "baseline-1.2_x"),
        ("label", 20261120, "20261120"),
        ("module", "torchtitan.train", "torchtitan.train"),
        ("script", "/opt/app/train.py", "/opt/app/train.py"),
        ("script", "../other/train me.py", "../other/train me.py"),
        ("config", "~/configs/$(id);`id`.yaml", "~/configs/$(id);`id`.yaml"),
        (
            "script_args",
            "--lr 3e-4 --betas 0.9,0.95 --note 'two words'",
            ["--lr", "3e-4", "--betas", "0.9,0.95", "--note", "two words"],
        ),
        ("script_args", '["--betas", "0.9,0.95", "a b"]', ["--betas", "0.9,0.95", "a b"]),
        ("script_args", ["--steps", 10], ["--steps", "10"]),
        ("script_args", [], []),
        ("env", {"NCCL_DEBUG": "INFO", "lower_ok": "", "N": 3}, {"NCCL_DEBUG": "INFO", "lower_ok": "", "N": "3"}),
        ("env", '{"A": "1,2=3; $(id)"}', {"A": "1,2=3; $(id)"}),
        ("env", {"TOKENIZERS_PARALLELISM": "false"}, {"TOKENIZERS_PARALLELISM": "false"}),
        ("run_id", "multinode_autoch_autoth_20261120_143052", "multinode_autoch_autoth_20261120_143052"),
        ("rocprof", "true", True),
        ("rocprof_input", "counters.yaml", "counters.yaml"),
        ("launcher_args", "--use_fsdp --fsdp_version=2", ["--use_fsdp", "--fsdp_version=2"]),
        ("profiler_args", "--trace=cuda,nvtx", ["--trace=cuda,nvtx"]),
        ("profile_ranks", 0, "0"),
        ("profile_ranks", "0, 8-15", "0,8-15"),
        ("profile_ranks", [0, "8-15", 3], "0,8-15,3"),
    ],
)
def test_read(name: str, raw: object, value: object) -> None:
    result = parameters.read(LAUNCH[name], raw)
    assert result == value
    assert type(result) is type(value)


def test_a_note_is_taken_to_the_letter() -> None:
    for raw in (" {{ x }} 'lr' = 3e-4; $(id) é ✓ ", "x" * 1000, "✓" * 1000):
        assert parameters.read(KEEPING["note"], raw) == raw
    assert parameters.read(KEEPING["note"], 42) == "42"


def test_run_ids_are_a_text_or_a_list() -> None:
    for raw in (", ".join(RUN_IDS[:20]), RUN_IDS[:20]):
        assert parameters.read(KEEPING["runs"], raw) == RUN_IDS[:20]


def test_names_of_values_are_a_text_or_a_list() -> None:
    for raw in ("channels, env.NCCL_PROTO", ["channels", "env.NCCL_PROTO"]):
        assert parameters.read(KEEPING["over"], raw) == ["channels", "env.NCCL_PROTO"]


PATHS: list[object] = [
    *("-c", "--config", " ", "a\nb", "a\0b", "a\x1b[31m", "a\x7f", "a\u2028b", "a\udc80", "x" * 4097),
    *(True, 1.0, ["a"]),
]
# Why this is not JSON is worded differently by Python's versions.
NESTED = "[" * 100000
OWN = [
    "MUSTER_RUN_ID",
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "GROUP_WORLD_SIZE",
    "NODE_RANK",
    "NNODES",
    "NPROC_PER_NODE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "PET_NNODES",
    "TORCHELASTIC_RUN_ID",
    "TORCH_ELASTIC_SHUTDOWN_TIMEOUT",
]
SECRETS = ["HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "db_password", "SECRET"]
# What is refused of each parameter of a launch.
REFUSED: dict[str, list[object]] = {
    "channels": [
        *("abc", "0", 0, True, "true", "4.5", 4.5, 42.0, -1, "-1", "+1", 129, "9" * 5000),
        *("4_2", "4e1", " 42", "٤٢", "42\n", "", "0x10", [42], {}),
    ],
    "threads": [100, 576],
    "nproc": [0],
    "nnodes": ["-2"],
    "master_port": [80, 65536],
    "follow": ["perhaps", 2],
    "launcher": ["mpirun", True],
    "mode": ["infiniband"],
    "module": ["train.py;id", "-m", "a..b"],
    "metrics_pattern": ["loss (\\d+)", "(?P<loss>[0-9.]+", "(?P<step>.)(?P<nll>.)", True],
    "time_limit": ["0", 0, True, "1.5h", "90 s", "h", "-1", "1w", "10000000000", 1.5],
    "label": ["-x", ".x", "a b", "a/b", "x" * 41, "{{ lookup('pipe','id') }}", "a\n", "é", True, 1.5, ["a"], {}],
    "script": PATHS,
    "config": PATHS,
    "script_args": [
        *("--note 'open", '["a", ', '["a\\nb"]', "a 'x\ny'", [0.1], ["a", True], [["a"]]),
        *(42, {"a": 1}, NESTED),
    ],
    "env": [
        *("A=1,B=2", "[1]", ["A=1"], {"A B": "1"}, {"1A": "1"}, {"A=B": "1"}, {"": "1"}, {"A\n": "1"}, {1: "1"}),
        *({"A": "x\ny"}, {"A": "x\0"}, {"A": True}, {"A": 0.5}, {"A": None}, {"A": ["x"]}, {"A": "x" * 200000}),
        *({name: "1"} for name in OWN),
        *({name: "hunter2"} for name in SECRETS),
    ],
    "run_id": ["../../etc"],
    "rocprof": ["maybe", 2],
    "rocprof_input": PATHS,
    "launcher_args": ["--role 'open", ["--x={nnode}"]],
    "profiler_args": ["--pmc 'open"],
    "profile_ranks": ["x", "0,", "3-1", "-1", "0-", "1-2-3", "0;1", True, 1.5, [True], [[0]], {"0": 1}, "99999999"],
}
# The same of `logs`.
LOGS_REFUSED: dict[str, list[object]] = {
    "lines": [0, "many"],
    "rank": [-1],
    "node": ["a\nb", "-x"],
    "grep": ["(a", "a{99999999999}", "x" * 201, ""],
}
# The same of `note` and `compare`.
KEEPING_REFUSED: dict[str, list[object]] = {
    "sweep": ["", "sweep_2026", "experiments/sweep_20261120_143052", "sweep_20261120_143052/..", RUN_IDS[0], 1, ["a"]],
    "over": ["", "a,", "a,a", "a,b,c,d,e", "a b", "1a", "../a", [], [1], 7, {"a": "b"}],
    "note": ["", "  ", "x" * 1001, "a\nb", "a\x1b[2Jb", "a\x00", "a\u2028b", "a\udc80", True, 1.5, ["a"], {"a": "b"}],
    "runs": [
        *("", RUN_IDS[0], f"{RUN_IDS[0]},", ",".join(RUN_IDS), f"{RUN_IDS[0]},{RUN_IDS[0]}", "../a,b", "a,b"),
        *(7, True, {"a": "b"}, [RUN_IDS[0], 7], [RUN_IDS[0], [RUN_IDS[1]]]),
    ],
    "last": [1, 21],
}
# Readers that say more of the expected value than its kind.
PRECISE = ("metrics_pattern", "script_args", "launcher_args", "profiler_args", "env", "run_id", "grep")
TABLES = [(LAUNCH, REFUSED), (LOGS, LOGS_REFUSED), (KEEPING, KEEPING_REFUSED)]
ALL = [(table[name], raw) for table, refused in TABLES for name, raws in refused.items() for raw in raws]


def refusal(parameter: parameters.Parameter, raw: object) -> InvalidValue:
    with pytest.raises(InvalidValue) as caught:
        parameters.read(parameter, raw)
    return caught.value


@pytest.mark.parametrize(
    ("parameter", "raw"), ALL, ids=[f"{parameter.name}-{number}" for number, (parameter, _raw) in enumerate(ALL)]
)
def test_refused(parameter: parameters.Parameter, raw: object) -> None:
    error = refusal(parameter, raw)
    assert "\n" not in str(error)
    if parameter.name not in PRECISE:
        assert (error.observed, error.expected) == (display(raw), parameters.expected(parameter))


@pytest.mark.parametrize("name", OWN)
def test_env_names_that_muster_sets(name: str) -> None:
    assert owned(name)


@pytest.mark.parametrize("name", SECRETS)
def test_env_secrets_are_not_shown(name: str) -> None:
    error = refusal(LAUNCH["env"], {name: "hunter2"})
    assert "hunter2" not in f"{error} {error.observed} {error.expected}"


def test_env_names_near_those_that_muster_sets_pass() -> None:
    near = {
        "RANKS": "1",
        "MY_RANK": "1",
        "MASTER_PORTS": "1",
        "PETER": "1",
        "TORCH_NCCL_DUMP_ON_TIMEOUT": "1",
        "NCCL_DEBUG": "INFO",
    }
    assert parameters.read(LAUNCH["env"], near) == near


def test_a_pattern_of_python() -> None:
    assert parameters.read(LOGS["grep"], r"loss|Error \d+$") == r"loss|Error \d+$"


def test_logs_read() -> None:
    values: dict[str, Any] = {"lines": "200", "rank": "0", "node": "gpu-01.example"}
    assert {name: parameters.read(LOGS[name], raw) for name, raw in values.items()} == {
        "lines": 200,
        "rank": 0,
        "node": "gpu-01.example",
    }
