# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lint says in every case that its tests have: tests/screens/messages/lint.txt."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import lines
from ansible_collections.muster.train.tests.support.lint_parts import ELEVEN, check
from ansible_collections.muster.train.tests.support.screens import Message, kept, page_of
from ansible_collections.muster.train.tests.unit.plugin_utils._nccl.lint import test_lint, test_lint_lists


def messages() -> Iterator[Message]:
    for values, count in test_lint.VALUES:
        if count:
            yield " ".join(f"{name}={value}" for name, value in values.items()), lines(check(ELEVEN, **values))
    yield from (case.message() for case in test_lint.CASES)
    for number, (value, hcas, count) in enumerate(test_lint_lists.HCA_LISTS):
        if count:
            yield f"list {number} of HCAs: {value:.40}", lines(check(hcas, NCCL_IB_HCA=value))
    for value, count in test_lint_lists.INTERFACE_LISTS.items():
        if count:
            yield f"interfaces of NCCL: {value}", lines(check(NCCL_SOCKET_IFNAME=value))
    for value, count in test_lint_lists.GLOO_LISTS.items():
        if count:
            yield f"interfaces of Gloo: {value}", lines(check(GLOO_SOCKET_IFNAME=value))
    for number, (hcas, value, count) in enumerate(test_lint_lists.GID_INDEXES):
        if count:
            yield f"GID index {number}: {value}", lines(check(hcas, NCCL_IB_GID_INDEX=value))


def test_what_the_lint_says() -> None:
    text = page_of(messages())
    assert text == kept("messages/lint.txt", text)
