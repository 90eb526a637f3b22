# SPDX-License-Identifier: GPL-3.0-or-later
"""On a machine with NVIDIA GPUs: gpu_facts says what `nvidia-smi -q -x`, which it does not ask, says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "collections")}
MODULE = "ansible_collections.muster.train.plugins.modules.gpu_facts"


def facts() -> dict[str, Any]:
    """Return what the module says of this machine."""
    run = subprocess.run(
        [sys.executable, "-m", MODULE],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": {}}),
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    facts = json.loads(run.stdout)["ansible_facts"]["gpu"]
    assert isinstance(facts, dict)
    return facts


def driver_report() -> ElementTree.Element:
    """Return the driver's own long answer; skip where there is none."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        pytest.skip("no nvidia-smi: this machine has no NVIDIA GPU")
    run = subprocess.run([tool, "-q", "-x"], capture_output=True, text=True, check=False)
    if run.returncode:
        pytest.skip(f"nvidia-smi sees no GPU: {run.stdout.strip()}")
    root = ElementTree.fromstring(run.stdout)
    if any(element.text == "Enabled" for element in root.iterfind("gpu/mig_mode/current_mig")):
        pytest.skip("MIG is on: each instance is a device of its own")
    return root


def test_gpu_facts_match_the_driver() -> None:
    root = driver_report()
    gpu = facts()
    assert gpu["vendor"] == "nvidia"
    assert gpu["driver_version"] == root.findtext("driver_version")
    identities = [(device["name"], device["uuid"], device["pci_address"]) for device in gpu["devices"]]
    assert identities == [
        (device.findtext("product_name"), device.findtext("uuid"), device.attrib["id"].lower().removeprefix("0000"))
        for device in root.iterfind("gpu")
    ]
