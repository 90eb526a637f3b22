# SPDX-License-Identifier: GPL-3.0-or-later
"""What real machines printed, read by the fact reader and resolved: exactly the HCAs that an expert would name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._rdma.devices import read_rdma
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Rdma
from ansible_collections.muster.train.plugins.plugin_utils._nccl.ports import is_efa, ports_of, usable
from ansible_collections.muster.train.plugins.plugin_utils._nccl.resolver import resolve
from ansible_collections.muster.train.tests.support.captures import captures, expected, text
from ansible_collections.muster.train.tests.support.machines import Machine
from ansible_collections.muster.train.tests.support.rdma_parts import AUTO, gpu, view
from ansible_collections.muster.train.tests.support.rdma_trees import converter


def read(capture: Path, answer: dict[str, Any], root: Path) -> Rdma:
    """Turn the capture into a machine, and read that."""
    convert = converter(answer["kind"])
    if convert is None:
        pytest.skip(f"no converter for {answer['kind']}")
    warnings: list[str] = []
    return read_rdma(Machine(convert(text(capture)), root), warnings.append)


@pytest.mark.parametrize("capture", [*captures("rdma"), *captures("sysfs")])
def test_the_hcas_that_an_expert_would_name(capture: Path, tmp_path: Path) -> None:
    answer = expected(capture)
    wanted = answer.get("resolver")
    if wanted is None:
        pytest.skip("no answer is given for this one")
    rdma = read(capture, answer, tmp_path)
    resolution = resolve([view(rdma=rdma, gpu=gpu(0), net=None)], AUTO)
    environment = resolution.nodes["node0"]
    if isinstance(wanted, str):  # EFA, Soft-RoCE: in words that it is not to be used
        assert usable(rdma) == []
        assert environment.hcas == []
        assert any(is_efa(port.hca) for port in ports_of(rdma)) is answer.get("efa", False)
        return
    names = wanted.get("selected") or re.split(r"[=,]", wanted["NCCL_IB_HCA"])[1:]
    assert environment.hcas == names
    values = {variable.name: variable.value for variable in environment.variables}
    if "NCCL_IB_HCA" in wanted and "NCCL_IB_HCA" in values:
        assert values["NCCL_IB_HCA"] == wanted["NCCL_IB_HCA"]
    warned = [finding.observed for finding in resolution.findings if finding.check == "rdma ports"]
    for name in answer.get("down", {}):
        assert any(name in text for text in warned)
