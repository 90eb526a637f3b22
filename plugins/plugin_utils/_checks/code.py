# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Do all nodes have the same code in the same state?"""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.muster.train.plugins.module_utils._records.node import Code, NodeFacts

from .._cluster.node import Node
from .._cluster.peers import Usual, usual
from .._findings.remedy import CODE, Remedy, on_nodes, playbook, sentence
from .model import Cluster, Launch, Outcome, Outcomes, completed, failed, passed, skipped, unavailable
from .policy import PROFILE

SOURCE = "launch_code_dir"
GIT = "git"
NOT_READ = "the code could not be read"


def code(cluster: Cluster) -> Outcomes:
    """Find nodes whose checkout differs from most nodes' in commit, branch or changes.

    The script may be the same while what it imports is not. Nodes with the same changes have the same code. The profile
    may name a commit and a branch.
    """
    odd = _odd(cluster.facts, cluster.launch, cluster.checks.expected)
    return completed(cluster, odd, lambda node: _code(node, cluster))


def _odd(facts: Mapping[str, NodeFacts], launch: Launch, profile: Mapping[str, object]) -> Outcomes:
    codes = {name: node.code for name, node in facts.items() if node.code and _is_known(node.code)}
    checkouts = {node: code for node, code in codes.items() if code.commit}
    # Only the first difference of a node is reported: the others follow from it.
    odd: dict[str | None, Outcome] = {}
    for part, values in (
        ("commit", {node: code.commit or "" for node, code in codes.items()}),
        ("branch", {node: code.branch for node, code in checkouts.items() if code.branch}),
        (
            "changes",
            {node: changes(code) for node, code in checkouts.items() if code.dirty is not None or not code.why},
        ),
    ):
        expected = profile.get(part)
        peers = usual(values)
        for node, value in values.items():
            if node in odd:
                continue
            if expected is not None and not _matches(part, value, str(expected)):
                odd[node] = _outcome(part, codes[node], str(expected), f"{PROFILE}.{part}", launch, str(expected))
            elif expected is None and peers is not None and node in peers.odd:
                odd[node] = _outcome(part, codes[node], _of_peers(part, peers), SOURCE, launch, peers.value)
    dirty = [node for node, code in checkouts.items() if code.dirty and not code.changes and node not in odd]
    if len(dirty) > 1:
        remedy = f"commit them, or {copy_again(launch.call)}"
        observed = "changed files that could not be compared"
        odd.update(dict.fromkeys(dirty, Outcome("warn", observed, "the same changes on every node", SOURCE, remedy)))
    return odd.items()


def _code(node: Node, cluster: Cluster) -> Outcome:
    checkout = node.facts.code
    if checkout is None:
        return unavailable(NOT_READ, "code")
    if checkout.why:
        return unavailable(checkout.why, "code", remedy=f"fix it there, or {copy_again(cluster.launch.call)}")
    if not checkout.commit:
        return skipped(no_commit(checkout))
    state = f"{checkout.branch or 'detached'} {checkout.commit[:12]}"
    return passed(f"{state} with {changes(checkout)}" if checkout.dirty else state, checkout.path)


def code_directory(node: Node, _cluster: Cluster) -> Outcome:
    """Find nodes without the code directory."""
    directory = node.facts.code
    if directory is None:
        return unavailable(NOT_READ, "code")
    if directory.exists:
        return passed(directory.path, SOURCE)
    remedy = "put the code there, or set launch_code_dir to where it is"
    return failed(f"{directory.path} does not exist", "the training code", SOURCE, remedy)


def _is_known(code: Code) -> bool:
    """Whether it is known which commit it has, or that it has none. Another check reports a missing directory."""
    return bool(code.commit) or (code.exists and not code.why)


def _matches(part: str, value: str, expected: str) -> bool:
    """Compare with the profile, in which a commit may be abbreviated."""
    return value == expected or (part == "commit" and len(expected) >= 7 and value.startswith(expected))


def changes(code: Code) -> str:
    if code.dirty is None:
        return "changes that could not be read"
    if not code.dirty:
        return "no changes"
    return f"changes {code.changes[:12]}" if code.changes else "changes"


def _of_peers(part: str, peers: Usual[str]) -> str:
    value = (peers.value[:12] or "no checkout") if part == "commit" else peers.value
    noun = {"commit": "one commit", "branch": "one branch", "changes": "the same changes"}[part]
    return f"{noun} on every node, {value} {peers.source}"


def _outcome(part: str, code: Code, expected: str, source: str, launch: Launch, target: str) -> Outcome:
    observed = {
        "commit": f"commit {code.commit[:12]}" if code.commit else no_commit(code),
        "branch": f"branch {code.branch}",
        "changes": changes(code),
    }[part]
    return failed(observed, expected, source, _remedy(part, code, target, launch))


def no_commit(code: Code) -> str:
    return f"{code.path} is {'without a commit' if code.source else 'not a checkout'}"


def _remedy(part: str, code: Code, target: str, launch: Launch) -> Remedy | str:
    """Return the command that corrects the odd nodes, if git can, and the one that copies the code to all."""
    everywhere = copy_again(launch.call)
    if code.source != GIT or not target:
        return everywhere
    if part == "changes":
        look = on_nodes(("git", "-C", code.path, "status", "--short"), launch.options)
        return sentence("see ", look, f"; then {everywhere}")
    return sentence(on_nodes(("git", "-C", code.path, "checkout", target), launch.options), f"; or {everywhere}")


def copy_again(call: str | None) -> str:
    return f"copy the code to all nodes: {playbook(*CODE, call=call)}"
