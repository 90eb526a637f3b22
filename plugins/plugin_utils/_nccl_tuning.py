# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rule D6: the parameters channels and threads as variables. (`_nccl_tuning.py` is private to the collection.)

Nothing by default: NCCL tunes itself. Both libraries read NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS; the maximum alone
is only a ceiling, so that N channels are both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records import Variable
from ansible_collections.muster.train.plugins.plugin_utils._findings import Finding
from ansible_collections.muster.train.plugins.plugin_utils._library import Library
from ansible_collections.muster.train.plugins.plugin_utils._nccl_view import decided, version_text

RULE = "D6"
THREADS_PER_BLOCK = (2, 28)  # RCCL reads RCCL_THREADS_PER_BLOCK from here on; older ones ignore it silently


def variables(settings: Mapping[str, Mapping[str, Any]], library: Library) -> list[Variable]:
    """Turn channels and threads into variables, with the parameter's origin."""
    channels, threads = settings["channels"], settings["threads"]
    layer: list[Variable] = []
    if channels["value"] is not None:
        reason = "least and most alike, so that it is the number"
        layer += [
            decided(name, str(channels["value"]), RULE, reason, channels["origin"])
            for name in ("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS")
        ]
    if threads["value"] is not None:
        value, origin = str(threads["value"]), threads["origin"]
        layer.append(decided("NCCL_NTHREADS", value, RULE, "threads of an NCCL block", origin))
        if library.name == "rccl" and (library.version is None or library.version >= THREADS_PER_BLOCK):
            reason = "threads of an RCCL block, read by RCCL from 2.28 on"
            layer.append(decided("RCCL_THREADS_PER_BLOCK", value, RULE, reason, origin))
    return layer


def most_channels(library: Library) -> int:
    """Return the library's MAXCHANNELS (src/include/device.h)."""
    if library.name == "rccl":
        return 128
    return 32 if library.version is not None and library.version < (2, 25) else 64


def beyond(settings: Mapping[str, Mapping[str, Any]], library: Library, node: str) -> list[Finding]:
    """Warn of numbers that this library cuts down or does not take (graph/tuning.cc getNthreads)."""
    findings = []
    channels, threads = settings["channels"], settings["threads"]
    most, name = most_channels(library), version_text(library)
    if (channels["value"] or 0) > most:
        findings.append(_beyond(node, "channels", channels, f"at most {most}, which is all that {name} takes", most))
    number = threads["value"]
    if number is not None and library.name == "rccl" and (number > 256 or number % 64):
        findings.append(_beyond(node, "threads", threads, f"a multiple of 64 up to 256, all that {name} takes", 256))
    if number is not None and library.name == "nccl" and number not in (64, 128, 256, 512):
        findings.append(_beyond(node, "threads", threads, f"64, 128, 256 or 512, which is all that {name} takes", 512))
    return findings


def _beyond(node: str, name: str, setting: Mapping[str, Any], expected: str, most: int) -> Finding:
    return Finding(
        check=name,
        node=node,
        status="warn",
        observed=f"{name}={setting['value']}",
        expected=expected,
        source=setting["origin"],
        remedy=f"use -e {name}={most} or less",
    )
