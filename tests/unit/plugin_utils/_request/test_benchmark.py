# SPDX-License-Identifier: GPL-3.0-or-later
"""The request of a benchmark: sizes, its run ID, and what it decides of its launch."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._request.byte_size import read_size, size_text
from ansible_collections.muster.train.plugins.plugin_utils._request.request import InvalidRequest, make_request
from ansible_collections.muster.train.tests.support.injection import TWO
from ansible_collections.muster.train.tests.support.requests import LINE


def made(**raw: Any) -> Any:
    defaults = {"script": "train.py", "launcher": "python", "max_restarts": 3, "env": {"A": "1"}}
    return make_request(
        "benchmark", LINE, extra_vars=raw, defaults=defaults, inventory=TWO, experiments="/home/ann/experiments"
    )


def lines(**raw: Any) -> list[str]:
    with pytest.raises(InvalidRequest) as refused:
        made(**raw)
    return str(refused.value).split("\n")


@pytest.mark.parametrize(
    ("text", "size"), [("8", 8), ("64K", 65536), ("64KiB", 65536), ("2M", 2 << 20), ("8G", 8 << 30), ("8GiB", 8 << 30)]
)
def test_a_size_is_in_powers_of_1024(text: str, size: int) -> None:
    assert read_size(text, 1, 8 << 30) == size


@pytest.mark.parametrize("text", ["", "8B", "8k", "8 G", "8GB", "-8", "0x8", "1e6", "8T", "1.5G"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match=r"^$"):
        read_size(text, 1, 1 << 40)


def test_a_size_as_a_person_writes_it() -> None:
    sizes = (8, 1000, 1024, 1536, 3 << 20, 8 << 30)
    assert [size_text(size) for size in sizes] == ["8 B", "1000 B", "1 KiB", "1536 B", "3 MiB", "8 GiB"]


def test_the_program_is_musters_own_and_the_clusters_policy_holds() -> None:
    request = made(collective="all_gather", max_bytes="1G")
    values = {name: setting["value"] for name, setting in request["parameters"].items()}
    assert values["script"] == "{run_dir}/collectives.py"
    assert (values["launcher"], values["max_restarts"], values["follow"]) == ("torchrun", 0, True)
    assert (values["env"], values["max_bytes"], values["min_bytes"]) == ({"A": "1"}, 1 << 30, 8)
    assert str(request["run_id"]).startswith("benchmark_all_gather_2026")
    assert made(channels=42)["run_id"].startswith("benchmark_all_reduce_2026")


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"collective": "gather"}, "collective"),
    ({"scope": "pairs"}, "scope"),
    ({"min_bytes": "0"}, "min_bytes"),
    ({"max_bytes": "65G"}, "max_bytes"),
    ({"max_bytes": "8GB"}, "max_bytes"),
    ({"min_bytes": "1M", "max_bytes": "1K"}, "max_bytes"),
    ({"factor": 1}, "factor"),
    ({"iterations": 0}, "iterations"),
    ({"dtype": "float8"}, "dtype"),
    ({"backend": "mpi"}, "backend"),
    ({"nnodes": 3}, "nnodes"),
    ({"script": "train.py"}, "script"),
    ({"run_id": "benchmark_all_reduce_20261120_143052_3f9a"}, "run_id"),
]


@pytest.mark.parametrize(("raw", "name"), REFUSED)
def test_what_is_refused(raw: dict[str, Any], name: str) -> None:
    [line] = lines(**raw)
    assert line.startswith(f"{name}: ")


def test_everything_wrong_is_said_at_once() -> None:
    names = [line.partition(":")[0] for line in lines(collective="sum", factor=0, min_bytes="2G", max_bytes="1G")]
    assert sorted(names) == ["collective", "factor", "max_bytes"]
