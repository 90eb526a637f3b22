# SPDX-License-Identifier: GPL-3.0-or-later
"""The code that the ranks run: its commit, branch and changes, without git the files that can be imported."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
from collections.abc import Sequence
from typing import Callable

from .._host.host import Host
from .._records.known import as_dict, parse_json
from .._records.node import Code
from .._system.disks import in_checkout
from .importable import below

# One call for all (git-status(1), Porcelain Format Version 2); without locks it does not write the index.
STATUS = ["git", "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--untracked-files=normal"]
NAME = ["git", "rev-parse", "HEAD", "--abbrev-ref", "HEAD"]
STATUS_S, NAME_S = 5.0, 2.0
# The role `code` writes it beside code that it copied without .git.
MARKER = ".muster-code.json"
MARKER_LIMIT = 64 * 1024
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def parse_status(text: str) -> tuple[str | None, str | None, bool]:
    """Return commit (None before the first), branch (None when detached), and whether anything is changed or new."""
    headers = {}
    dirty = False
    for line in text.splitlines():
        if line.startswith("# "):
            key, _space, value = line[2:].partition(" ")
            headers[key] = None if value.startswith("(") else value
        else:
            dirty = True
    return headers.get("branch.oid") or None, headers.get("branch.head") or None, dirty


def parse_marker(text: str, path: str) -> Code | None:
    """Return the state of the controller's checkout when the code was copied here; None if the text is not a marker."""
    data = parse_json(text)
    if not isinstance(data, dict):
        return None

    def word(name: str) -> str | None:
        return data[name] if isinstance(data.get(name), str) and data[name] else None

    commit = word("commit")
    if commit is not None and not _COMMIT.fullmatch(commit):
        return None
    dirty = data["dirty"] if isinstance(data.get("dirty"), bool) else None
    return Code(path, True, commit, word("branch"), dirty, word("changes"), MARKER)


def parse_excludes(text: str) -> list[str]:
    """Return the patterns of what rsync did not copy, which the role code leaves in the marker."""
    patterns = as_dict(parse_json(text)).get("excludes")
    return [item for item in patterns if isinstance(item, str)] if isinstance(patterns, list) else []


def read_code(host: Host, path: str, warn: Callable[[str], None], files: Sequence[str] = ()) -> Code:
    """Return the state of the code at path; unknown values are None. files are those that the launch names."""
    unknown = Code(path, host.is_dir(path), None, None, None)

    def could_not(why: str, state: Code | None = None) -> Code:
        warn(f"code {path}: {why}")
        return dataclasses.replace(state or unknown, why=why)

    def with_tree(state: Code, excludes: Sequence[str] = ()) -> Code:
        from .tree import read_tree  # nodes compile what is imported

        digest = read_tree(host, path, ["", *below(path, folders)], excludes)
        return dataclasses.replace(state, tree=digest.value, files=digest.files, uncompared=digest.uncompared)

    if not unknown.exists:
        return unknown
    # Python looks for modules beside the script, too.
    folders = [os.path.dirname(file) for file in files]
    if not host.exists(path + "/.git"):
        # Before git is called, which would report a repository further up.
        text = host.read_text(f"{path}/{MARKER}", MARKER_LIMIT)
        if text is not None:
            marked = parse_marker(text, path)
            if marked is None:
                return could_not(f"{MARKER} is not what the role code writes; the commit is unknown")
            return with_tree(marked, parse_excludes(text))
    result = host.run(STATUS, timeout=STATUS_S, cwd=path)
    if result.rc == 0:
        state = Code(path, True, *parse_status(result.out), source="git")
        if not (state.dirty and state.commit):
            return state
        from .changes import read_changes  # nodes compile what is imported

        digest = read_changes(host, path, [path, *folders], files)
        return dataclasses.replace(
            state,
            dirty=bool(digest.value or digest.uncompared),
            changes=digest.value,
            files=digest.files,
            uncompared=digest.uncompared,
        )
    if result.timed_out:
        slow = f"git status took longer than {STATUS_S:.0f} s; whether it is dirty is unknown"
        return could_not(slow, _name_only(host, path))
    if result.missing:
        here = in_checkout(host, host.resolve(path) or path)
        return could_not("is a checkout, but git is not installed") if here else with_tree(unknown)
    if "dubious ownership" in result.err:
        return could_not(
            f"git does not trust this checkout, because it belongs to another user; to trust it: "
            f"git config --global --add safe.directory {shlex.quote(path)}"
        )
    if "not a git repository" not in result.err:
        return could_not(f"git status failed: {result.why(STATUS_S)}")
    return with_tree(unknown)


def _name_only(host: Host, path: str) -> Code | None:
    result = host.run(NAME, timeout=NAME_S, cwd=path)
    words = result.out.split()
    if result.rc != 0 or len(words) != 2:
        return None
    return Code(path, True, words[0], None if words[1] == "HEAD" else words[1], None, source="git")
