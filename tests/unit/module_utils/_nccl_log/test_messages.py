# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of logs of NCCL: tests/screens/messages/nccl_log.txt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ansible_collections.muster.train.tests.support.nccl_cases import CASES, verdict_of
from ansible_collections.muster.train.tests.support.screens import Message, kept, page_of
from ansible_collections.muster.train.tests.unit.module_utils._nccl_log.test_read import read_paths


def messages(folder: Path) -> Iterator[Message]:
    for name in CASES:
        findings = verdict_of(name).findings
        if findings:
            yield (
                name,
                [
                    f"{item.status} {item.check}, ranks {', '.join(item.ranks)}: {item.observed}; expected "
                    f"{item.expected}; {item.remedy}"
                    for item in findings
                ],
            )
    yield "what cannot be read", [line.replace(str(folder), "/node") for line in read_paths(folder / "gone")[1]]


def test_what_is_said_of_logs(tmp_path: Path) -> None:
    text = page_of(messages(tmp_path))
    assert text == kept("messages/nccl_log.txt", text)
