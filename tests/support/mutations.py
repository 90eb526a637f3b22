# SPDX-License-Identifier: GPL-3.0-or-later
"""The places where roles are broken (tests/mutations), to see whether a scenario notices, and the gate's defects."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from .play import ROOT

MUTATIONS = {
    f"{path.stem}: {mutation['name']}": (path.stem, mutation)
    for path in sorted((ROOT / "tests/mutations").glob("*.yml"))
    for mutation in yaml.safe_load(path.read_text())
}


def mutate(text: str, mutation: dict[str, Any]) -> str:
    """Break a file in the one place that is meant."""
    assert text.count(mutation["text"]) == 1, f"{mutation['text']!r} has to be once in {mutation['file']}"
    return text.replace(mutation["text"], mutation["instead"])


@dataclass(frozen=True)
class Defect:
    """A patch that plants a defect (tests/mutations/gate), and the node IDs of the tests that have to find it."""

    path: Path
    summary: str
    found_by: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.stem


def read_defect(path: Path) -> Defect:
    """Read what a patch says before its first difference."""
    head = path.read_text().partition("\ndiff --git ")[0]
    [summary] = re.findall(r"^Defect: (.+)$", head, re.MULTILINE)
    return Defect(path, summary, tuple(re.findall(r"^Found by: (\S+)$", head, re.MULTILINE)))


DEFECTS = [read_defect(path) for path in sorted((ROOT / "tests/mutations/gate").glob("*.patch"))]
