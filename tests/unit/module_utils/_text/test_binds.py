# SPDX-License-Identifier: GPL-3.0-or-later
"""Binds in Apptainer's form."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils._text.binds import as_bind, source_of


@pytest.mark.parametrize("path", ["/data", "/a:b,c", "/with blank", "/:", ""])
def test_a_path_is_bound_to_itself(path: str) -> None:
    assert source_of(as_bind(path)) == source_of(as_bind(path, "ro")) == path


@pytest.mark.parametrize(
    ("bind", "source"), [("/data:/mnt", "/data"), ("/data:/mnt:ro", "/data"), (r"/a\:b:/c", "/a:b"), ("\\", "")]
)
def test_the_source_of_a_bind(bind: str, source: str) -> None:
    assert source_of(bind) == source
