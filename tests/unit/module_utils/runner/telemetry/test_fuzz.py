# SPDX-License-Identifier: GPL-3.0-or-later
"""The parsers of telemetry take what comes: no text of a tool or of the kernel is an exception."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._gpu.amd.telemetry import parse_cards, parse_metrics
from ansible_collections.muster.train.plugins.module_utils._gpu.nvidia.telemetry import parse_samples
from ansible_collections.muster.train.plugins.module_utils.runner.telemetry.counters import (
    parse_interfaces,
    parse_memory,
    parse_ticks,
)

TEXTS = (
    "0, 97, 612.34, 1755, 2619, 70123, 81559, 64\n1, [N/A], [Unknown Error], 0, 0, 0, 0, 64\n",
    '[{"gpu": 0, "usage": {"gfx_activity": {"value": 87, "unit": "%"}}, "clock": {"gfx_0": {"clk": "5 MHz"}}}]',
    '{"card0": {"GPU use (%)": "88", "sclk clock speed:": "(2100Mhz)", "VRAM Total Memory (B)": "206141652992"}}',
    "cpu  1 2 3 4 5 6 7 8 9 10\n",
    "MemTotal: 16384000 kB\nMemAvailable: 8192000 kB\n",
    "  eth0: 5 10 0 0 0 0 0 0 7 20 0 0 0 0 0 0\n",
)
SIGNS = "0 9-.,:[]{}\"'\n\t\0é%xN/A"


@pytest.mark.parametrize(
    "parse",
    [parse_samples, parse_metrics, parse_cards, parse_ticks, parse_memory, parse_interfaces],
    ids=lambda parse: parse.__name__,
)
def test_no_text_is_an_exception(parse: Callable[[str], Any]) -> None:
    source = random.Random(17)
    for text in TEXTS:
        for _turn in range(200):
            damaged = list(text)
            for _change in range(source.randrange(1, 6)):
                place = source.randrange(len(damaged))
                damaged[place : place + source.randrange(3)] = source.choice(SIGNS) * source.randrange(9)
                damaged = damaged or ["x"]
            parse("".join(damaged))
    parse("[" * 100_000)
