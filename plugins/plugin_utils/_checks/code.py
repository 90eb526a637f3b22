# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Have all nodes the same code at the same state?"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.node import Code, NodeFacts

from .._cluster.node import Node
from .._cluster.peers import Usual, usual
from .model import Cluster, Looks, Seen, completed, fine, skip, unknown

SOURCE = "launch_code_dir"
GIT = "git"
CLEAN = "no changes"


def code(cluster: Cluster) -> Looks:
    """Find nodes whose checkout is at another commit or branch, or changed in another way, than most nodes'.

    The script may be the same, what it imports need not be. The same changes everywhere are the same code. The profile
    may name a commit and a branch.
    """
    return completed(
        cluster, _odd(cluster.facts, cluster.launch.call, cluster.expected), lambda node: _code(node, cluster)
    )


def _odd(facts: Mapping[str, NodeFacts], call: str | None, profile: Mapping[str, object]) -> Looks:
    looked = {node: each.code for node, each in facts.items() if each.code and _was_looked_at(each.code)}
    codes = {node: code for node, code in looked.items() if code.commit}
    # Of what differs first the rest follows.
    odd: dict[str | None, Seen] = {}
    for what, values in (
        ("commit", {node: code.commit or "" for node, code in looked.items()}),
        ("branch", {node: code.branch for node, code in codes.items() if code.branch}),
        ("changes", {node: changes(code) for node, code in codes.items() if code.dirty is not None or not code.why}),
    ):
        wanted = profile.get(what)
        peers = usual(values)
        for node, value in values.items():
            if node in odd:
                continue
            if wanted is not None and not _is(what, value, str(wanted)):
                odd[node] = _seen(node, what, looked[node], str(wanted), f"preflight_expected.{what}", call)
            elif wanted is None and peers is not None and node in peers.odd:
                odd[node] = _differs(node, what, looked[node], peers, call)
    dirty = [node for node, code in codes.items() if code.dirty and not code.changes and node not in odd]
    if len(dirty) > 1:
        expected, remedy = "the same changes on every node", f"commit them, or {anew(call)}"
        seen = Seen("warn", "changed files that nobody could compare", expected, SOURCE, remedy)
        odd.update(dict.fromkeys(dirty, seen))
    return odd.items()


def _code(node: Node, cluster: Cluster) -> Seen:
    own = node.facts.code
    if own is None:
        return unknown("nobody could look at the code", "code")
    if own.why:
        return unknown(own.why, "code", f"mend it there, or {anew(cluster.launch.call)}")
    known = state(own)
    return fine(known, own.path) if known else skip(no_commit(own))


def code_directory(node: Node, _cluster: Cluster) -> Seen:
    """Find nodes without the code directory."""
    own = node.facts.code
    if own is None:
        return unknown("nobody could look at the code", "code")
    if own.exists:
        return fine(own.path, "launch_code_dir")
    return Seen(
        "fail",
        f"{own.path} does not exist",
        "the training code",
        "launch_code_dir",
        "put the code there, or set launch_code_dir to where it is",
    )


def _was_looked_at(code: Code) -> bool:
    """Say whether it is known which commit it is at, or that it is none. No directory is told elsewhere."""
    return bool(code.commit) or (code.exists and not code.why)


def state(code: Code | None) -> str | None:
    """Say in words what the code is at: branch, commit, changes."""
    if code is None or not code.commit:
        return None
    parts = [code.branch or "detached", code.commit[:12]]
    return " ".join([*parts, *([f"with {changes(code)}"] if code.dirty else [])])


def _is(what: str, value: str, wanted: str) -> bool:
    """A commit may be shortened."""
    return value == wanted or (what == "commit" and len(wanted) >= 7 and value.startswith(wanted))


def changes(code: Code) -> str:
    if code.dirty is None:
        return "changes that nobody could look for"
    if not code.dirty:
        return CLEAN
    return f"changes {code.changes[:12]}" if code.changes else "changes"


def _differs(node: str, what: str, code: Code, peers: Usual[str], call: str | None) -> Seen:
    value = (peers.value[:12] or "no checkout") if what == "commit" else peers.value
    noun = {"commit": "one commit", "branch": "one branch", "changes": "the same changes"}[what]
    expected = f"{noun} on every node, {value} {peers.source}"
    return _seen(node, what, code, expected, SOURCE, call, peers.value)


def _seen(
    node: str, what: str, code: Code, expected: str, source: str, call: str | None, target: str | None = None
) -> Seen:
    seen = {
        "commit": f"commit {code.commit[:12]}" if code.commit else no_commit(code),
        "branch": f"branch {code.branch}",
        "changes": changes(code),
    }[what]
    return Seen(
        "fail",
        seen,
        expected,
        source,
        remedy(node, what, code, expected if target is None else target, call),
    )


def no_commit(code: Code) -> str:
    """Say in words why there is no commit."""
    return f"{code.path} is {'at no commit' if code.source else 'no checkout'}"


def remedy(node: str, what: str, code: Code, target: str, call: str | None) -> str:
    """Return the command that mends one node, and the one that brings the code to all."""
    everywhere = anew(call)
    if code.source != GIT or not target:
        return everywhere
    if what == "changes":
        shown = _command(node, ["git", "-C", code.path, "status", "--short"], call)
        return f"see {shown}; then {everywhere}"
    checkout = _command(node, ["git", "-C", code.path, "checkout", target], call)
    return f"{checkout}; or {everywhere}"


def anew(call: str | None) -> str:
    """Return how to bring the code to all nodes."""
    return f"bring the code to all: {call or 'ansible-playbook'} muster.train.setup --tags code"


def _command(node: str, argv: Sequence[str], call: str | None) -> str:
    """Return the ad-hoc command, with the inventories of the playbook's command."""
    words = shlex.split(call or "")
    options = words[words.index("-i") :] if "-i" in words else []
    return shlex.join(["ansible", node, *options, "-m", "ansible.builtin.command", "-a", shlex.join(argv)])
