# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules of the collection say of themselves: their documentation, examples and options."""

from __future__ import annotations

import ast
import importlib
from functools import cache
from typing import Any

import yaml

from . import sources
from .sources import ROOT

MODULES = sorted(path.stem for path in ROOT.glob("plugins/modules/*.py"))


def literals(path: str) -> dict[str, str]:
    """The strings that a Python file assigns to names: DOCUMENTATION, EXAMPLES, RETURN."""
    texts = {}
    for node in sources.tree(path).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = node.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                texts[node.targets[0].id] = value.value
    return texts


@cache
def documented_options(module: str) -> dict[str, dict[str, Any]]:
    """The options of a module, with those of its documentation fragments, which its own override."""
    documentation = yaml.safe_load(literals(f"plugins/modules/{module}.py")["DOCUMENTATION"])
    options: dict[str, dict[str, Any]] = {}
    for fragment in documentation["extends_documentation_fragment"]:
        name, section = (*fragment.split(".")[2:], "documentation")[:2]
        path = f"ansible_collections.muster.train.plugins.doc_fragments.{name}"
        text = getattr(importlib.import_module(path).ModuleDocFragment, section.upper())
        options.update(yaml.safe_load(text).get("options", {}))
    return {**options, **documentation.get("options", {})}
