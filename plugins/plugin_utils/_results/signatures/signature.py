# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of a line: its cause and what to do. The catalog has them as data, a file for each subject."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .pattern import Pattern

CATALOG = Path(__file__).parent / "catalog"
# In the order of their weight: what made a run fail, what only followed from it, what costs speed or is advice.
CAUSE, CONSEQUENCE, NOTICE = KINDS = ("cause", "consequence", "notice")
# libyaml's parser takes a tenth of the time.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@frozen
class Signature:
    """Lines of one meaning. is_obvious: the line says its cause itself; source: where the line or its fix comes from.

    example is such a line as logs have it, and near_miss one that looks like it and means something else.
    """

    name: str
    patterns: Sequence[Pattern]
    kind: str
    cause: str
    fix: str
    source: str
    example: str
    near_miss: str
    is_obvious: bool = False

    def matches(self, line: bytes) -> bool:
        """Return whether one of the patterns is in a line."""
        return any(pattern.matches(line) for pattern in self.patterns)


@functools.cache
def load() -> tuple[Signature, ...]:
    """Return the catalog."""
    files = sorted(CATALOG.glob("*.yml"))
    return tuple(signature for path in files for signature in parse(path.read_text(encoding="utf-8")))


def parse(text: str) -> Iterable[Signature]:
    """Read a file of the catalog; raise ValueError, KeyError or TypeError where an entry is not as it should be."""
    for entry in yaml.load(text, Loader=_LOADER):
        lines = entry.pop("line")
        patterns = [Pattern.of(line) for line in ([lines] if isinstance(lines, str) else lines)]
        signature = Signature(
            patterns=patterns, kind=entry.pop("kind", CAUSE), is_obvious=entry.pop("obvious", False), **entry
        )
        if signature.kind not in KINDS:
            raise ValueError(f"{signature.name}: expected one of {', '.join(KINDS)}, saw {signature.kind}")
        yield signature
