# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of a cluster's name."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._request.cluster_name import cluster_name
from ansible_collections.muster.train.tests.support.requests import make


@pytest.mark.parametrize(
    ("sources", "name"),
    [
        (["/muster/inventories/h100"], "h100"),
        (["/muster/inventories/h100/"], "h100"),
        (["/muster/inventories/h100/hosts.yml"], "h100"),
        (["/muster/clusters/h100.ini"], "h100"),
        (["/hosts"], "hosts"),
        (["gpu1,gpu2,"], "gpu1,gpu2"),
        (["/inv/a", "/inv/b", "/inv/a"], "a+b"),
        (["/inv/" + "x" * 60], "x" * 40),
        ([], ""),
    ],
)
def test_the_name_is_that_of_the_folder_or_of_the_file(sources: list[str], name: str) -> None:
    assert cluster_name(sources) == name


def test_a_request_has_it() -> None:
    assert make()["cluster"] == "lab"
