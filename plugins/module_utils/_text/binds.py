# SPDX-License-Identifier: GPL-3.0-or-later
"""Binds in Apptainer's form, SOURCE[:DESTINATION[:OPTIONS]]; a backslash takes the meaning of a colon or a comma."""

from __future__ import annotations

import re

_SOURCE = re.compile(r"(?:\\.|[^:\\])*", re.DOTALL)


def source_of(bind: str) -> str:
    """Return the path on the node."""
    match = _SOURCE.match(bind)
    return re.sub(r"\\([:,])", r"\1", match.group() if match else "")


def as_bind(path: str, options: str = "") -> str:
    """Return the bind of a path to the same path in the image."""
    escaped = re.sub(r"([:,])", r"\\\1", path)
    return f"{escaped}:{escaped}:{options}" if options else escaped
