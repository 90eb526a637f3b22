# SPDX-License-Identifier: GPL-3.0-or-later
"""Which directory hides the runs of a node from this user."""

from __future__ import annotations

import dataclasses
import os

from .._host.host import Host
from .._records import layout
from .._records.hidden import HiddenRuns
from .._records.run import RunRecord


def hidden_runs(host: Host, workdir: str, node: str) -> HiddenRuns | None:
    """Return the first directory on the way to a node's runs that this user cannot enter or list; None: there is none.

    None as well where there are no runs at all.
    """
    runs = layout.runs_dir(host.resolve(workdir) or workdir, node)
    names = runs.strip("/").split("/")
    for count in range(len(names) + 1):
        path = "/" + "/".join(names[:count])
        owner = host.owner(path)
        if owner is None:
            return None
        if not host.allows(path, os.R_OK | os.X_OK if path == runs else os.X_OK):
            return HiddenRuns(path, host.user_name(owner.uid), host.user_name())
    return None


def explain_hidden(run: RunRecord, hidden: HiddenRuns | None) -> RunRecord:
    """Return what is known of a run: nothing where it is hidden, instead of that it is not there."""
    if hidden is None or run.phase != "not_found":
        return run
    return dataclasses.replace(run, run_dir=None, phase="unknown", why=hidden.describe())
