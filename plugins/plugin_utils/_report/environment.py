# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment of a run's ranks as its plan has it: what was set and why, and what was left alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict

from .._page.tables import PageTable
from .._text.table import node_names
from .run_parts import dicts

# Of a variable that differs between nodes, the values that have a row of their own.
MOST_VALUES = 4


def environment_table(plan: Mapping[str, Any]) -> PageTable | None:
    """Return the variables of the ranks with their origins."""
    jobs = {str(node): dicts(as_dict(job).get("environment")) for node, job in as_dict(plan.get("jobs")).items()}
    rows = {node: [_variable(item) for item in items] for node, items in jobs.items()}
    return _table("Environment of the ranks", ["variable", "value", "nodes", "origin"], rows)


def not_set_table(plan: Mapping[str, Any]) -> PageTable | None:
    """Return the variables that the launch has left alone, with the reasons."""
    left = {str(node): dicts(items) for node, items in as_dict(plan.get("not_set")).items()}
    rows = {
        node: [(str(item.get("name")), "", _reason(item, "rule")) for item in items] for node, items in left.items()
    }
    return _table("Not set, on purpose", ["variable", "", "nodes", "reason"], rows)


def _variable(item: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(item.get("name")), str(item.get("value")), _reason(item, "origin", "rule")


def _reason(item: Mapping[str, Any], *keys: str) -> str:
    origin, reason = " ".join(str(item[key]) for key in keys if item.get(key)), str(item.get("reason") or "")
    return ": ".join(filter(None, [origin, reason]))


def _table(title: str, headers: Sequence[str], rows: Mapping[str, Sequence[tuple[str, str, str]]]) -> PageTable | None:
    """Return a table of variables; of nodes with the same value it names those that not all nodes are."""
    values: dict[tuple[str, str], dict[str, list[str]]] = {}
    for node, variables in rows.items():
        for name, value, reason in variables:
            values.setdefault((name, reason), {}).setdefault(value, []).append(node)
    cells = []
    for (name, reason), nodes in sorted(values.items()):
        shown = list(nodes.items())[: MOST_VALUES if len(nodes) <= MOST_VALUES else 1]
        for value, members in shown:
            cells.append([name, value, "" if len(members) == len(rows) else node_names(members), reason])
        if len(nodes) > len(shown):
            others = [node for value, members in nodes.items() if value != shown[0][0] for node in members]
            cells.append([name, f"{len(nodes) - len(shown)} other values", node_names(others), reason])
    return PageTable.of(title, headers, cells, wrapped=True) if cells else None
