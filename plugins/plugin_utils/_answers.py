# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every node answered to `node_facts`, out of Ansible's variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible.utils.vars import transform_to_native_types

from ansible_collections.muster.train.plugins.plugin_utils._detected import Answer
from ansible_collections.muster.train.plugins.plugin_utils._table import one_line


def answers(variables: Mapping[str, Any], nodes: Iterable[str], register: str, own: Mapping[str, str]) -> list[Answer]:
    """Return each node's answer: what was registered by this name.

    own are the variables with a node's own environment, the lowest first, and their origins. Facts of another task, of
    an earlier play or from a cache do not count: nobody knows how old they are.
    """
    return [_answer(node, variables["hostvars"].get(node) or {}, register, own) for node in nodes]


def _answer(node: str, variables: Mapping[str, Any], register: str, own: Mapping[str, str]) -> Answer:
    result = transform_to_native_types(variables.get(register), redact=False)
    address = str(variables.get("ansible_host") or node)
    if not isinstance(result, Mapping):
        return Answer(node, None, "it was not asked", address)
    facts = result.get("ansible_facts")
    if not isinstance(facts, Mapping) or not facts.get("node"):
        why = str(result.get("msg") or "it gave no facts").removeprefix("Task failed: ")
        return Answer(node, None, one_line(why), address)
    return Answer(node, facts, "", address, [(native(variables, name), origin) for name, origin in own.items()])


def native(variables: Mapping[str, Any], name: str) -> Any:
    """Return a variable that is a mapping, as plain data; what is not set is empty."""
    return transform_to_native_types(variables.get(name) or {}, redact=False)
