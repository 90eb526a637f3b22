# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter `compose_project`: the text of a node's compose file."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.muster.train.plugins.plugin_utils._text.plain import plain

DOCUMENTATION = r"""
name: compose_project
short_description: Render the compose file from which a node's training containers are created
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Renders a compose project with one service, C(train), from a node's facts and the policy of the role
    P(muster.train.container#role), whose variables have the same names with the prefix C(container_).
  - The container gets the devices of the node. NVIDIA GPUs are requested by CDI if the engine supports it, or else by
    C(deploy.resources); AMD GPUs by their device files and the numbers of their groups.
  - There is never an C(environment). A run passes its variables in its job.
positional: _input
options:
  _input:
    description: The facts of M(muster.train.node_facts) with the subsets C(gpu), C(devices) and C(engine).
    type: dict
    required: true
  options:
    description: The policy, such as C(image), C(workdir) and C(code_dir). Paths are absolute.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the compose file of this node
  ansible.builtin.debug:
    msg: "{{ ansible_facts | muster.train.compose_project(options) }}"
  vars:
    options:
      project: muster
      image: nvcr.io/nvidia/pytorch:25.10-py3
      workdir: /home/me/muster
      code_dir: /home/me/muster/code
"""

RETURN = r"""
_value:
  description: The text of C(compose.yaml).
  type: str
"""


def compose_project(facts: Any, options: Any) -> str:
    """Render the file; see DOCUMENTATION."""
    # Using any filter imports all filter files, again in every worker, so they import late.
    from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
    from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts
    from ansible_collections.muster.train.plugins.plugin_utils._setup.compose import Options, render

    known, values = plain(facts), plain(options)
    names = {field.name for field in dataclasses.fields(Options)}
    if not isinstance(known, Mapping) or known.get("node") is None:
        raise AnsibleFilterError("compose_project: expected the facts of muster.train.node_facts, with `node`")
    unknown = sorted(set(values) - names)
    if unknown:
        raise AnsibleFilterError(f"compose_project: unknown options {', '.join(unknown)}; expected {', '.join(names)}")
    gpu = known.get("gpu")
    try:
        return render(
            Options(**values), NodeFacts.from_dict(known["node"]), None if gpu is None else Gpu.from_dict(gpu)
        )
    except (ValueError, TypeError) as error:
        raise AnsibleFilterError(f"compose_project: {error}") from error


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"compose_project": compose_project}
