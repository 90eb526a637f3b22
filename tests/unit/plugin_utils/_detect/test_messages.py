# SPDX-License-Identifier: GPL-3.0-or-later
"""What is shown of detected nodes, and which files of them are refused: tests/screens/messages/detect.txt."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.muster.train.plugins.plugin_utils._detect import files, gpus_text, links, rows
from ansible_collections.muster.train.plugins.plugin_utils._detect.rdma.text import render as rdma_lines
from ansible_collections.muster.train.tests.support.screens import Message, kept, page_of
from ansible_collections.muster.train.tests.unit.plugin_utils._detect import (
    test_files,
    test_gpus_in_use,
    test_links,
    test_page,
    test_text,
)
from ansible_collections.muster.train.tests.unit.plugin_utils._detect.rdma import test_shown


def messages() -> Iterator[Message]:
    for name, lines in test_text.SCREENS.items():
        # Before the last node they are all the same.
        last = max(number for number, line in enumerate(lines) if line.startswith("node"))
        yield f"screen: {name}", lines[last:]
    yield "why a port is not for a job over TCP", sorted({row[-1] for row in test_text.OVER_TCP})
    yield "GPUs that are closed", [test_text.closed(vendor) for vendor in ("nvidia", "amd")]
    unreadable = test_text.UNREADABLE
    yield "facts that are not known", [rows.gpu_summary(unreadable.gpu), rows.hca_summary(unreadable)]
    yield "links", [links.summary(test_links.gpu(pairs, count)) for pairs, count, _named in test_links.SUMMARIES]
    for name, document in test_page.PAGES.items():
        yield f"page: {name}", [text for text in document.texts if not text.startswith("/*")]
    for name, nodes in test_gpus_in_use.SCREENS.items():
        yield f"gpus: {name}", gpus_text.lines_of(nodes, 120, every=False)
    for name, report in test_shown.REPORTS.items():
        yield f"rdma: {name}", rdma_lines(report, None, 120)
    for kind, write in files.WRITERS.items():
        yield f"file: {kind}", write(test_files.WITH_REASONS).splitlines()
    yield "file: refused", [test_files.refusal(kind, value) for kind, value in test_files.REFUSED]


def test_what_is_shown_of_detected_nodes() -> None:
    text = page_of(messages())
    assert text == kept("messages/detect.txt", text)
