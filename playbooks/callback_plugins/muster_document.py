# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints the document of a verb where -e output=json asks for one.

Ansible loads the callbacks beside a playbook by itself, so that this needs no setting, and it knows of every failure,
also of tasks that are not Muster's.
"""

from __future__ import annotations

import atexit
import os
import sys
from typing import Any

from ansible.parsing.dataloader import DataLoader
from ansible.plugins.callback import CallbackBase

# With an older Python the first action says so; a callback that could not be loaded would warn about itself before.
IS_SUPPORTED = sys.version_info >= (3, 11)
if IS_SUPPORTED:
    from ansible_collections.muster.train.plugins.plugin_utils._action import document_output, output_format
    from ansible_collections.muster.train.plugins.plugin_utils._results import documents
    from ansible_collections.muster.train.plugins.plugin_utils._results.gathered import GatheredDocument


class CallbackModule(CallbackBase):
    """Gather the document while the plays run; print it when Ansible ends, in whichever way."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "muster_document"

    def __init__(self) -> None:
        super().__init__()
        self.disabled = True
        if not IS_SUPPORTED:
            return
        # Ansible has read the extra variables by now, so the loader reads nothing.
        self._format = output_format.requested_format(DataLoader())
        self.disabled = self._format not in output_format.DOCUMENTS
        self._document = GatheredDocument()
        self._is_complete = self._has_failed = False
        if not self.disabled:
            document_output.keep_for_document()
        if self._format in (output_format.JSON, output_format.JSON_LINES):
            self._pid = os.getpid()
            atexit.register(self._print)

    def v2_playbook_on_play_start(self, play: Any) -> None:
        self._document.begin_play(play.vars.get("launch__verb"))

    def v2_runner_on_ok(self, result: Any) -> None:
        self._document.add_result(result.host.name, result.task.get_name(), result.result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._add_failure(result, ignore_errors)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._add_failure(result, bool(result.task.ignore_unreachable))

    def v2_playbook_on_stats(self, stats: Any) -> None:
        self._is_complete = True
        self._has_failed = any([*stats.failures.values(), *stats.dark.values()])

    def _add_failure(self, result: Any, is_ignored: bool) -> None:
        if not is_ignored:
            self._document.add_failure(result.host.name, result.task.get_name(), result.result)

    def _print(self) -> None:
        if os.getpid() != self._pid:
            return
        document = self._document.end(self._has_failed or not self._is_complete)
        document_output.print_last(documents.text(document, lines=self._format == output_format.JSON_LINES))
