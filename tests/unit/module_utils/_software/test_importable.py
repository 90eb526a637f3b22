# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files an import can reach."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils._software.importable import below, can_import


@pytest.mark.parametrize(
    "path",
    [
        "model.py",
        "parts/attention.py",
        "parts/__init__.py",
        "parts/__main__.py",
        "native.so",
        "parts/native.cpython-311-x86_64-linux-gnu.so",
        "parts/native.abi3.so",
        "vendored/",  # a repository in this one
        "größe.py",
    ],
)
def test_an_import_reaches(path: str) -> None:
    assert can_import(path, [""])


@pytest.mark.parametrize(
    "path",
    [
        "",
        "train-gpt.py",
        "model.pyc",
        "model.py.bak",
        "model.v2.py",
        "lightning_logs/version_0/hparams.yaml",
        "outputs/2026-11-24/12-00-00/train.py",
        ".cache/model.py",
        "parts/__pycache__/attention.py",
        "libc.so.6",
        "run-1/",
        "venv/lib/python3.11/site-packages/torch/__init__.py",
        "a\udcff.py",
        "a b/c.py",
    ],
)
def test_no_import_reaches(path: str) -> None:
    assert not can_import(path, [""])


def test_python_also_looks_beside_the_script() -> None:
    assert can_import("recipes-2/parts.py", ["", "recipes-2"])
    assert not can_import("recipes-21/parts.py", ["", "recipes-2"])
    assert not can_import("recipes-2", ["recipes-2"])
    assert not can_import("parts.py", [])


def test_paths_below_a_directory() -> None:
    assert below("/code", ["/code", "/code/a/b", "/coder", "/", "/code/a/b"]) == ["", "a/b"]
    assert below("/", ["/a"]) == ["a"]
