# SPDX-License-Identifier: GPL-3.0-or-later
"""Run by machine.py: makes this checkout importable as ansible_collections.muster.train, wherever it is.

Empty packages of these names with the right paths: no link, no installed collection, nothing written.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

CHECKOUT = Path(__file__).resolve().parents[2]

for name, path in (
    ("ansible_collections", None),
    ("ansible_collections.muster", None),
    ("ansible_collections.muster.train", str(CHECKOUT)),
):
    package = ModuleType(name)
    package.__path__ = [] if path is None else [path]
    sys.modules[name] = package
