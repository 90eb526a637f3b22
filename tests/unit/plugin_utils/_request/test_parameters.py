# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the reading of values: what each type takes and keeps to the letter, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._request import parameters, verbs
from ansible_collections.muster.train.plugins.plugin_utils._request.variable_names import owned

LAUNCH = {parameter.name: parameter for parameter in verbs.VERBS["launch"]}
LOGS = {parameter.name: parameter for parameter in verbs.VERBS["logs"]}


def refusal(name: str, raw: object, table: dict[str, parameters.Parameter] = LAUNCH) -> str:
    with pytest.raises(ValueError, match=r"^\S") as caught:
        parameters.read(table[name], raw)
    assert "\n" not in str(caught.value)
    return str(caught.value)


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
    ],
)
def test_read(name: str, raw: object, value: object) -> None:
    result = parameters.read(LAUNCH[name], raw)
    assert result == value
    assert type(result) is type(value)


CHANNELS = "expected a whole number from 1 to 128, saw "


@pytest.mark.parametrize(
    ("raw", "saw"),
    [
        ("abc", "'abc'"),
        ("0", "'0'"),
        (0, "0"),
        (True, "True"),
        ("true", "'true'"),
        ("4.5", "'4.5'"),
        (4.5, "4.5"),
        (42.0, "42.0"),
        (-1, "-1"),
        ("-1", "'-1'"),
        ("+1", "'+1'"),
        (129, "129"),
        ("9" * 5000, "'" + "9" * 59 + "…"),
        ("4_2", "'4_2'"),
        ("4e1", "'4e1'"),
        (" 42", "' 42'"),
        ("٤٢", "'٤٢'"),
        ("42\n", "'42\\n'"),
        ("", "''"),
        ("0x10", "'0x10'"),
        ([42], "[42]"),
        ({}, "{}"),
    ],
)
def test_channels_refused(raw: object, saw: str) -> None:
    assert refusal("channels", raw) == CHANNELS + saw


@pytest.mark.parametrize(
    ("name", "raw", "expected"),
    [
        ("threads", 100, "expected a whole number from 64 to 512 that is a multiple of 64, saw 100"),
        ("threads", 576, "expected a whole number from 64 to 512 that is a multiple of 64, saw 576"),
        ("nproc", 0, "expected a whole number from 1 to 1024, saw 0"),
        ("nnodes", "-2", "expected a whole number from 1 to 65536, saw '-2'"),
        ("master_port", 80, "expected a whole number from 1024 to 65535, saw 80"),
        ("master_port", 65536, "expected a whole number from 1024 to 65535, saw 65536"),
        ("follow", "perhaps", "expected true or false, saw 'perhaps'"),
        ("follow", 2, "expected true or false, saw 2"),
        ("launcher", "accelerate", "expected one of torchrun, python, exec, saw 'accelerate'"),
        ("launcher", True, "expected one of torchrun, python, exec, saw True"),
        ("mode", "infiniband", "expected one of auto, rdma, tcp, saw 'infiniband'"),
        ("module", "train.py;id", "expected a dotted Python name such as package.train, saw 'train.py;id'"),
        ("module", "-m", "expected a dotted Python name such as package.train, saw '-m'"),
        ("module", "a..b", "expected a dotted Python name such as package.train, saw 'a..b'"),
    ],
)
def test_refused(name: str, raw: object, expected: str) -> None:
    assert refusal(name, raw) == expected


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("loss (\\d+)", ""),
        ("(?P<loss>[0-9.]+", ", but it does not compile (missing ), unterminated subpattern at position 0)"),
        ("(?P<step>.)(?P<nll>.)", ", but the group nll is unknown"),
        (True, ""),
    ],
)
def test_metrics_pattern_refused(raw: object, reason: str) -> None:
    assert refusal("metrics_pattern", raw).startswith(
        "expected a regular expression with at least one of the named groups step, total_steps, loss, tokens_per_s, "
        rf"samples_per_s, such as step=(?P<step>\d+) loss=(?P<loss>\S+){reason}, saw "
    )


@pytest.mark.parametrize("raw", ["0", 0, True, "1.5h", "90 s", "h", "-1", "1w", "10000000000", 1.5])
def test_time_limit_refused(raw: object) -> None:
    assert refusal("time_limit", raw).startswith(
        "expected seconds (90) or a number with s, m, h or d (30m), from 1 second to 365 days, saw "
    )


@pytest.mark.parametrize(
    "raw", ["-x", ".x", "a b", "a/b", "x" * 41, "{{ lookup('pipe','id') }}", "a\n", "é", True, 1.5, ["a"], {}]
)
def test_label_refused(raw: object) -> None:
    assert refusal("label", raw).startswith(
        "expected 1 to 40 letters, digits, '.', '_' or '-', the first a letter or digit, saw "
    )


@pytest.mark.parametrize("name", ["script", "config"])
@pytest.mark.parametrize(
    "raw",
    ["-c", "--config", " ", "a\nb", "a\0b", "a\x1b[31m", "a\x7f", "a\u2028b", "a\udc80", "x" * 4097, True, 1.0, ["a"]],
)
def test_path_refused(name: str, raw: object) -> None:
    assert refusal(name, raw).startswith(
        "expected a path on the node, not beginning with '-' and without control characters, saw "
    )


@pytest.mark.parametrize(
    ("raw", "part"),
    [
        ("--note 'open", "No closing quotation"),
        ('["a", ', "is not a JSON list"),
        ('["a\\nb"]', "item 0"),
        ("a 'x\ny'", "control characters"),
        ([0.1], "item 0"),
        (["a", True], "item 1"),
        ([["a"]], "item 0"),
        (42, "a list of strings"),
        ({"a": 1}, "a list of strings"),
        ("[" * 100000, "is not a JSON list"),
    ],
)
def test_script_args_refused(raw: object, part: str) -> None:
    assert part in refusal("script_args", raw)


@pytest.mark.parametrize(
    ("raw", "part"),
    [
        ("A=1,B=2", "a mapping"),
        ("[1]", "a mapping"),
        (["A=1"], "a mapping"),
        ({"A B": "1"}, "'A B' is not a valid environment variable name"),
        ({"1A": "1"}, "'1A' is not a valid environment variable name"),
        ({"A=B": "1"}, "'A=B' is not a valid environment variable name"),
        ({"": "1"}, "'' is not a valid environment variable name"),
        ({"A\n": "1"}, "'A\\n' is not a valid environment variable name"),
        ({1: "1"}, "1 is not a valid environment variable name"),
        ({"A": "x\ny"}, "A: expected"),
        ({"A": "x\0"}, "A: expected"),
        ({"A": True}, "A: expected"),
        ({"A": 0.5}, "A: expected"),
        ({"A": None}, "A: expected"),
        ({"A": ["x"]}, "A: expected"),
        ({"A": "x" * 200000}, "A: expected"),
    ],
)
def test_env_refused(raw: object, part: str) -> None:
    assert part in refusal("env", raw)


@pytest.mark.parametrize(
    "name",
    [
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
    ],
)
def test_env_names_that_muster_sets(name: str) -> None:
    assert owned(name)
    assert f"{name} is set by Muster" in refusal("env", {name: "1"})


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


@pytest.mark.parametrize("name", ["HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "db_password", "SECRET"])
def test_env_secrets_are_sent_to_launch_secrets_without_being_shown(name: str) -> None:
    text = refusal("env", {name: "hunter2"})
    assert name in text
    assert "launch_secrets" in text
    assert "hunter2" not in text


def test_run_id_refused() -> None:
    assert "not a path" in refusal("run_id", "../../etc")


@pytest.mark.parametrize(
    ("name", "raw"), [("lines", 0), ("lines", "many"), ("rank", -1), ("node", "a\nb"), ("node", "-x")]
)
def test_logs_refused(name: str, raw: object) -> None:
    assert refusal(name, raw, LOGS).startswith("expected ")


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ("(a", "does not compile (missing ), unterminated subpattern at position 0)"),
        ("a{99999999999}", "does not compile (the repetition number is too large)"),
        ("x" * 201, "has 201 characters"),
        ("", "has 0 characters"),
    ],
)
def test_a_pattern_that_python_does_not_take_is_refused(raw: str, why: str) -> None:
    text = refusal("grep", raw, LOGS)
    assert text.startswith("expected a regular expression of Python of at most 200 characters")
    assert f", but it {why}, saw " in text
    assert parameters.read(LOGS["grep"], r"loss|Error \d+$") == r"loss|Error \d+$"


def test_logs_read() -> None:
    values: dict[str, Any] = {"lines": "200", "rank": "0", "node": "gpu-01.example"}
    assert {name: parameters.read(LOGS[name], raw) for name, raw in values.items()} == {
        "lines": 200,
        "rank": 0,
        "node": "gpu-01.example",
    }
