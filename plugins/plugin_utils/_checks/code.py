# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is the code the same, and the script there?"""

from __future__ import annotations

from .._cluster.node import Node
from .._findings.finding import Finding
from . import agreement, code_agreement, file_agreement
from .model import Cluster, Seen, completed, fine, skip, unknown


def code(cluster: Cluster) -> list[Finding]:
    """Find nodes whose checkout is at another state."""
    found = code_agreement.check_code(cluster.facts, cluster.launch.call, cluster.expected)
    return completed("code", cluster, found, lambda node: _code(node, cluster))


def _code(node: Node, cluster: Cluster) -> Seen:
    own = node.facts.code
    if own is None:
        return unknown("nobody could look at the code", "code")
    if own.why:
        return unknown(own.why, "code", f"mend it there, or {code_agreement.anew(cluster.launch.call)}")
    state = code_agreement.state(own)
    return fine(state, own.path) if state else skip(code_agreement.no_commit(own))


def code_directory(cluster: Cluster) -> list[Finding]:
    """Find nodes without the code directory."""
    found = [each for each in agreement.check_directories(cluster.facts) if each.check == "code directory"]

    def well(node: Node) -> Seen:
        own = node.facts.code
        return fine(own.path, "launch_code_dir") if own else unknown("nobody could look at the code", "code")

    return completed("code directory", cluster, found, well)


def files(cluster: Cluster) -> list[Finding]:
    """Find nodes where script or configuration is missing or another one."""
    found = []
    for what, (path, origin) in cluster.launch.files.items():
        found += file_agreement.check_file(cluster.facts, what, path, origin)
        if what == "config":
            found += file_agreement.check_config(cluster.facts, origin)
    # Without the directory no file can be there, which is told by its own check.
    found = [each for each in found if each.node is None or not _no_code(cluster.nodes[each.node])]

    def well(node: Node) -> Seen:
        if not cluster.launch.files:
            return skip("the inventory names no script")
        if _no_code(node):
            return skip("the code directory is not there")
        if node.facts.files is None:
            return unknown("nobody could look for files", "files")
        return fine(", ".join(path for path, _origin in cluster.launch.files.values()), "the same sha256")

    return completed("files", cluster, found, well)


def _no_code(node: Node) -> bool:
    return node.facts.code is not None and not node.facts.code.exists
