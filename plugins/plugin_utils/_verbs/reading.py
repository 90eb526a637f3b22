# SPDX-License-Identifier: GPL-3.0-or-later
"""How a run is read again and again on a node: raw, which needs no Python there, and by a module where that is silent.

Only the module knows whether the runner holds its lock, and a login's output does not hide its answer.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.layout import HEARTBEAT, STATE
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord

from .._results.log_frames import FolderNews, parse_news, read_news
from .._text.table import one_line
from .find import launch_policy
from .step import Play

# The runner writes a heartbeat every second: if it is this old, the runner is gone or the disk is full.
SILENT_AFTER_S = 20.0
DOCUMENTS = (STATE, HEARTBEAT)
OBSERVED_CHARACTERS = 120


class RunReader:
    """A run on a node, whose host is that of the step. observed is what was read last where the state should be."""

    def __init__(self, play: Play, node: str, run_id: str, run_dir: str) -> None:
        policy = launch_policy(play, ("launch_workdir", "launch_docker"), node)
        self._play, self._run_dir = play, run_dir
        self._question: dict[str, Any] = {"workdir": str(policy["launch_workdir"]), "docker": policy["launch_docker"]}
        self._question.update(run_id=run_id, node=node)
        self._sign: object = None
        self._moved = play.clock()
        self.observed = ""

    def read(self, names: str = "", most: int = 0, known: Mapping[str, int] | None = None) -> FolderNews | None:
        """Return the state, the heartbeat, and what is new in the logs with these names, None if they are incomplete.

        most and known are those of `read_news`. Raises Unreachable.
        """
        marker = secrets.token_hex(16)
        documents = [os.path.join(self._run_dir, name) for name in DOCUMENTS]
        command = read_news(marker, documents, os.path.join(self._run_dir, "logs"), names, most, known or {})
        output = self._play.host.run_line(command)
        news = parse_news(output.stdout, marker)
        is_whole = news is not None and len(news.documents) == len(DOCUMENTS)
        observed = (news.documents[0] if news and is_whole else output.stdout).strip() or output.stderr or "nothing"
        self.observed = one_line(observed, OBSERVED_CHARACTERS)
        return news if is_whole else None

    def ask_if_silent(self, sign: object) -> RunRecord | str | None:
        """Ask the module if the sign of life, None without one, is the same for long; return why it did not answer."""
        if sign is not None and sign != self._sign:
            self._sign, self._moved = sign, self._play.clock()
        if self._play.clock() - self._moved <= SILENT_AFTER_S:
            return None
        answer = self._play.host.run_module("run_info", self._question)
        self._moved = self._play.clock()
        if isinstance(answer.get("run"), dict) and not answer.get("failed"):
            return RunRecord.from_dict(answer["run"])
        return one_line(answer.get("msg") or "no answer")
