# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of another user: what hides them is named, and nothing else is taken for hidden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records import layout
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.module_utils._runs.hidden import explain_hidden, hidden_runs
from ansible_collections.muster.train.plugins.module_utils._runs.read import nothing_of
from ansible_collections.muster.train.tests.support.unprivileged import as_nobody, needs_root, open_folder


def hidden_from_nobody(workdir: Path) -> Any:
    hidden = hidden_runs(Host(), str(workdir), "node0")
    return hidden and hidden.to_dict()


@needs_root
@pytest.mark.parametrize("part", ["work", "work/.muster", "work/.muster/nodes/node0/runs"])
def test_a_directory_of_another_user_is_named_with_its_owner(part: str) -> None:
    with open_folder() as folder:
        work = folder / "work"
        Path(layout.runs_dir(str(work), "node0"), "run_a").mkdir(parents=True)
        assert as_nobody(lambda: hidden_from_nobody(work)) is None
        (folder / part).chmod(0o700)
        hidden = as_nobody(lambda: hidden_from_nobody(work))
        assert hidden == {"path": str(folder / part), "owner": "root", "user": "nobody"}
        assert hidden_from_nobody(work) is None, "its owner reads it"


def test_what_is_not_there_is_not_hidden(tmp_path: Path) -> None:
    assert hidden_runs(Host(), str(tmp_path / "absent"), "node0") is None
    assert hidden_runs(Host(), str(tmp_path), "node0") is None


@needs_root
def test_of_a_hidden_run_nothing_is_known() -> None:
    with open_folder() as folder:
        (folder / ".muster").mkdir(mode=0o700)
        why = as_nobody(
            lambda: explain_hidden(
                nothing_of("node0", "run_a", "/x"), hidden_runs(Host(), str(folder), "node0")
            ).to_dict()
        )
        run = RunRecord.from_dict(why)
        assert (run.phase, run.run_dir) == ("unknown", None)
        assert str(run.why).startswith(f"{folder}/.muster ")
    known = RunRecord(run_id="run_a", phase="running")
    assert explain_hidden(known, None) is known
