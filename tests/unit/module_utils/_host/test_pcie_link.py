# SPDX-License-Identifier: GPL-3.0-or-later
"""PCIe links."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.pci import (
    PcieLink,
    parse_generation,
    parse_width,
    read_link,
)
from ansible_collections.muster.train.tests.support.machines import Machine


@pytest.mark.parametrize(
    ("text", "generation"),
    [
        ("2.5 GT/s PCIe", 1),
        ("5.0 GT/s PCIe", 2),
        ("8 GT/s", 3),
        ("16.0 GT/s PCIe", 4),
        ("32.0 GT/s PCIe", 5),
        ("64.0 GT/s PCIe", 6),
        ("Unknown", None),
        ("Unknown speed", None),
        ("9.9 GT/s PCIe", None),
        ("", None),
        (None, None),
    ],
)
def test_generation(text: str | None, generation: int | None) -> None:
    assert parse_generation(text) == generation


def test_width() -> None:
    assert [parse_width(text) for text in ("16", "1", "0", "255", "-1", "x", None)] == [16, 1, *[None] * 5]


def test_a_device_and_none(tmp_path: Path) -> None:
    attributes = {"current_link_width": "8", "max_link_width": "16", "current_link_speed": "8.0 GT/s PCIe"}
    host = Machine({"files": {f"/d/{name}": f"{value}\n" for name, value in attributes.items()}}, tmp_path)
    assert read_link(host, "/d") == PcieLink(8, 16, 3, None)
    assert read_link(host, "/none") == PcieLink()
