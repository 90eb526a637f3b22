# SPDX-License-Identifier: GPL-3.0-or-later
"""Can another user replace what a run executes?"""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._records.path_part import ROOT_OWNER

from .._cluster.node import Node
from .model import Cluster, Outcome, passed


def work_directory_path(node: Node, _cluster: Cluster) -> Outcome:
    """Find work directories that another user could replace: root must not run from there."""
    user, part = node.facts.user, node.facts.workdir.untrusted
    if part is None:
        return passed(f"only root and {user.name} can replace {node.facts.workdir.path}")
    owner = f"owner root or {user.name}" if user.uid else ROOT_OWNER
    return Outcome(
        "warn" if user.uid else "fail",
        part.danger_for(user.name),
        f"{owner}, and writable by no other user unless it is sticky",
        "sshd_config(5), StrictModes",
        f"correct it with chown and chmod go-w {part.path} (chmod +t where all users write), "
        "or set launch_workdir to another place",
    )
