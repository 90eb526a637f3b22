# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the run ID: how it is made and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.job import SAFE_RUN_ID, container_name
from ansible_collections.muster.train.plugins.plugin_utils._request.run_id import check as check_run_id
from ansible_collections.muster.train.plugins.plugin_utils._request.run_id import (
    is_new,
    label_in,
    settings_in,
    subject_of,
)
from ansible_collections.muster.train.plugins.plugin_utils._request.run_id import make as make_run_id

NONCE = "3f9a" + "0" * 28
NOW = datetime(2026, 11, 20, 14, 30, 52, tzinfo=UTC)


LONG_LABEL = "x" * 40


@pytest.mark.parametrize(
    ("channels", "threads", "label", "expected"),
    [
        (42, 256, None, "multinode_42ch_256th_20261120_143052_3f9a"),
        (42, 256, "baseline", "multinode_42ch_256th_20261120_143052_baseline_3f9a"),
        (42, None, None, "multinode_42ch_autoth_20261120_143052_3f9a"),
        (None, 512, "a_b.c-d", "multinode_autoch_512th_20261120_143052_a_b.c-d_3f9a"),
        (8, 64, "cafe", "multinode_8ch_64th_20261120_143052_cafe_3f9a"),
        (None, None, None, "train_20261120_143052_3f9a"),
        (None, None, "base", "train_20261120_143052_base_3f9a"),
        (None, None, "20260101_000000", "train_20261120_143052_20260101_000000_3f9a"),
    ],
)
def test_make(channels: int | None, threads: int | None, label: str | None, expected: str) -> None:
    run_id = make_run_id(subject_of(channels, threads, "/code/train.py", None), NOW, label, NONCE)
    assert run_id == expected
    assert check_run_id(run_id) == expected
    assert label_in(run_id) == (label or "")


@pytest.mark.parametrize(
    ("script", "module", "subject"),
    [
        ("train.py", None, "train"),
        ("/code/examples/tiny_gpt/train.py", None, "train"),
        ("./launch.sh", None, "launch"),
        ("train.v2.py", None, "train.v2"),
        ("bin/train", None, "train"),
        (".hidden", None, "hidden"),
        ("my train (1).py", None, "my-train-1"),
        ("träin.py", None, "tr-in"),
        ("обучение.py", None, "run"),
        ("-e x; id #.py", None, "e-x-id"),
        ("$(id)\n.py", None, "id"),
        ("y" * 40 + ".py", None, "y" * 32),
        (None, "torchtitan.train", "torchtitan.train"),
        (None, "torchtitan.experiments.llama4.scripts.train", "experiments.llama4.scripts.train"),
        (None, "_private.train", "private.train"),
        (None, "package." + "z" * 40, "z" * 32),
        (None, "_", "run"),
    ],
)
def test_a_run_without_channels_and_threads_has_the_name_of_its_program(
    script: str | None, module: str | None, subject: str
) -> None:
    assert subject_of(None, None, script, module) == subject
    run_id = make_run_id(subject, NOW, None, NONCE)
    assert check_run_id(run_id) == run_id


@pytest.mark.parametrize(
    ("run_id", "settings"),
    [
        ("multinode_42ch_256th_20261120_143052_3f9a", ["channels=42", "threads=256"]),
        ("multinode_42ch_autoth_20261120_143052", ["channels=42", "threads=auto"]),
        ("train_20261120_143052_3f9a", []),
        ("multinode_20261120_143052_3f9a", []),
        ("latest", []),
    ],
)
def test_the_settings_in_a_run_id(run_id: str, settings: list[str]) -> None:
    assert settings_in(run_id) == settings


def test_two_launches_of_one_second_have_two_run_ids() -> None:
    assert make_run_id("train", NOW, None, NONCE) != make_run_id("train", NOW, None, "0" * 32)


@pytest.mark.parametrize("subject", [subject_of(128, 512, None, None), subject_of(None, None, "y" * 99, None)])
def test_the_longest_run_id_is_valid_everywhere(subject: str) -> None:
    run_id = make_run_id(subject, NOW, LONG_LABEL, NONCE)
    assert check_run_id(run_id) == run_id
    assert label_in(run_id) == LONG_LABEL
    assert SAFE_RUN_ID.fullmatch(run_id)
    assert len(container_name(run_id, 65535)) <= 128


PATHS = ["/etc/passwd", "../multinode_42ch_256th_20261120_143052", "experiments/x", "..", "a\\b"]
NO_RUN_IDS = [
    "",
    "latest",
    "multinode_42ch_256th_20261120_143052\n",
    "multinode_42ch_256th_20261120_143052_",
    "multinode_42ch_256th_20261120_143052_-x",
    "multinode_42ch_256th_20261120_143052_" + "x" * 41,
    "multinode_42ch_256th_20261120_143052_" + "x" * 41 + "_3f9a",
    "multinode_42ch_256th_20261120",
    "train",
    "train_3f9a",
    "_20261120_143052",
    "-x_20261120_143052",
    ".x_20261120_143052",
    "a b_20261120_143052",
    "y" * 33 + "_20261120_143052",
    "train_20261120_143052\n",
    "multinode_٤٢ch_256th_20261120_143052",
    "multinode_42ch_256th_20261120_143052; id",
    " multinode_42ch_256th_20261120_143052",
]


@pytest.mark.parametrize("text", [*PATHS, *NO_RUN_IDS])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^\S"):
        check_run_id(text)


@pytest.mark.parametrize(
    ("run_id", "new"),
    [
        ("train_20261120_143052_3f9a", True),
        ("multinode_8ch_64th_20261120_143000_cafe_3f9a", True),
        ("train_20261120_142951_3f9a", False),
        ("train_20261119_143052_3f9a", False),
        ("train_20261399_143052_3f9a", False),
        ("train", False),
        ("", False),
    ],
)
def test_a_run_id_of_the_present_is_new(run_id: str, new: bool) -> None:
    assert is_new(run_id, NOW) is new
