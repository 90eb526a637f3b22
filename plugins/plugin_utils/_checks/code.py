# SPDX-License-Identifier: GPL-3.0-or-later
"""Do all nodes have the same code in the same state?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.node import LISTED_FILES, Code, NodeFacts

from .._cluster.node import Node
from .._cluster.peers import Usual, usual
from .._findings.invocation import Invocation
from .._findings.remedy import CODE, DELETE, Remedy, sentence
from .._text.table import names, one_line
from .model import Cluster, Launch, Outcome, Outcomes, completed, failed, passed, skipped, unavailable
from .policy import PROFILE

SOURCE = "launch_code_dir"
GIT = "git"
NOT_READ = "the code could not be read"
SAME_CHANGES, SAME_FILES = "the same changes on every node", "the same files on every node"
# A difference names so many files, and how many more there are.
NAMED = 3


def code(cluster: Cluster) -> Outcomes:
    """Find nodes whose code differs from most nodes' in commit, branch, changes or, without git, in its files.

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
            code = codes[node]
            if expected is not None and not _matches(part, value, str(expected)):
                odd[node] = _outcome(part, code, str(expected), f"{PROFILE}.{part}", launch, str(expected))
            elif expected is None and peers is not None and node in peers.odd:
                files = _in_files(code, codes[peers.nodes[0]]) if part == "changes" else ""
                detail, of_peers = (files, "") if code.dirty else ("", files)
                odd[node] = _outcome(part, code, _of_peers(part, peers, of_peers), SOURCE, launch, peers.value, detail)
    return [*odd.items(), *_other_files(codes, odd, launch), *_uncompared(codes, odd, launch)]


def _other_files(codes: Mapping[str, Code], odd: Mapping[str | None, Outcome], launch: Launch) -> Outcomes:
    """Find nodes without git whose files are not those of most such nodes."""
    peers = usual({node: code.tree for node, code in codes.items() if code.tree and node not in odd})
    if peers is None:
        return
    other = codes[peers.nodes[0]]
    for node in peers.odd:
        changed, additional, missing = _sorted_out(codes[node], other)
        groups = (("changed files", changed), ("additional files", additional), ("missing files", missing))
        observed = "; ".join(f"{what}: {_named(files)}" for what, files in groups if files) or "other files"
        remedy = copy_again(launch.invocation)
        if additional:
            remedy = sentence(remedy, "; to delete additional files: ", launch.invocation.command(*DELETE))
        yield node, failed(observed, f"{SAME_FILES}, {peers.source}", SOURCE, remedy)


def _sorted_out(code: Code, other: Code) -> tuple[list[str], list[str], list[str]]:
    """Return the files that differ from another node's, those that it does not have, and those only it has."""
    # What comes after the end of a list that was cut is on neither side known to be missing.
    ends = [max(files) for files in (code.files, other.files) if len(files) >= LISTED_FILES]
    end = min(ends, default=None)
    mine, others = ({name for name in files if end is None or name <= end} for files in (code.files, other.files))
    changed = [name for name in sorted(mine & others) if code.files[name] != other.files[name]]
    return changed, sorted(mine - others), sorted(others - mine)


def _in_files(code: Code, other: Code) -> str:
    """Return in which files the changes of two nodes differ, as far as it is known: " in a.py, b.py and 2 more"."""
    groups = _sorted_out(code, other) if code.source == other.source else ()
    files = sorted(name for group in groups for name in group)
    return f" in {_named(files)}" if files else ""


def _named(files: Sequence[str]) -> str:
    return names([one_line(name) for name in files], NAMED)


def _uncompared(codes: Mapping[str, Code], odd: Mapping[str | None, Outcome], launch: Launch) -> Outcomes:
    """Find nodes of which it is not known whether they have the same code as the others."""
    for node, code in codes.items():
        if node in odd or len(codes) < 2 or not _is_blind(code):
            continue
        what, expected, remedy = "files", SAME_FILES, sentence("keep data and outputs outside of launch_code_dir")
        if code.source == GIT:
            what, expected = "changed files", SAME_CHANGES
            remedy = sentence("commit them, or ", copy_again(launch.invocation))
        reason = f": {code.uncompared}" if code.uncompared else ""
        yield node, Outcome("warn", f"{what} that could not be compared{reason}", expected, SOURCE, remedy)


def _is_blind(code: Code) -> bool:
    return code.uncompared is not None or bool(code.commit and code.dirty and not code.changes)


def _code(node: Node, cluster: Cluster) -> Outcome:
    checkout = node.facts.code
    if checkout is None:
        return unavailable(NOT_READ, "code")
    if checkout.why:
        remedy = sentence("fix it there, or ", copy_again(cluster.launch.invocation))
        return unavailable(checkout.why, "code", remedy=remedy)
    if not checkout.commit:
        return passed(f"files {checkout.tree[:12]}", checkout.path) if checkout.tree else skipped(no_commit(checkout))
    revision = f"{checkout.branch or 'detached'} {checkout.commit[:12]}"
    return passed(f"{revision} with {changes(checkout)}" if checkout.dirty else revision, checkout.path)


def code_directory(node: Node, cluster: Cluster) -> Outcome:
    """Find nodes without the code directory."""
    directory = node.facts.code
    if directory is None:
        return unavailable(NOT_READ, "code")
    if directory.exists:
        return passed(directory.path, SOURCE)
    remedy = sentence("", copy_again(cluster.launch.invocation), "; or set launch_code_dir to where it is")
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


def state(code: Code) -> str | None:
    """Return what two nodes with the same code have in common beside its commit; None where it is not known."""
    if code.uncompared:
        return None
    return ", ".join([*([changes(code)] if code.commit else []), *([f"files {code.tree[:12]}"] if code.tree else [])])


def _of_peers(part: str, peers: Usual[str], detail: str) -> str:
    value = (peers.value[:12] or "no checkout") if part == "commit" else peers.value
    noun = {"commit": "one commit", "branch": "one branch", "changes": SAME_CHANGES}[part]
    everywhere = noun if part == "changes" else f"{noun} on every node"
    return f"{everywhere}, {value}{detail} {peers.source}"


def _outcome(
    part: str, code: Code, expected: str, source: str, launch: Launch, target: str, detail: str = ""
) -> Outcome:
    observed = {
        "commit": f"commit {code.commit[:12]}" if code.commit else no_commit(code),
        "branch": f"branch {code.branch}",
        "changes": changes(code),
    }[part]
    return failed(observed + detail, expected, source, _remedy(part, code, target, launch))


def no_commit(code: Code) -> str:
    return f"{code.path} is {'without a commit' if code.source else 'not a checkout'}"


def _remedy(part: str, code: Code, target: str, launch: Launch) -> Remedy:
    """Return the command that corrects the odd nodes, if git can, and the one that copies the code to all."""
    everywhere = copy_again(launch.invocation)
    if code.source != GIT or not target:
        return everywhere
    if part == "changes":
        look = launch.invocation.on_nodes(("git", "-C", code.path, "status", "--short"))
        return sentence("see ", look, "; then ", everywhere)
    checkout = launch.invocation.on_nodes(("git", "-C", code.path, "checkout", target))
    return sentence(checkout, "; or ", everywhere)


def copy_again(invocation: Invocation) -> Remedy:
    return sentence("copy the code to all nodes: ", invocation.command(*CODE))
