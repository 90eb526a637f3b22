# SPDX-License-Identifier: GPL-3.0-or-later
"""What discover says of its choices and writes of the hosts: tests/screens/messages/discover.txt."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import lines
from ansible_collections.muster.train.tests.support.screens import Message, kept, page_of
from ansible_collections.muster.train.tests.unit.plugin_utils._discover import test_inventory as inventory


def messages() -> Iterator[Message]:
    for case, result in inventory.DISCOVERED.items():
        choices = [f"{name}: {choice.value}  # {choice.why}" for name, choice in result.choices.items()]
        yield case, [*choices, *lines(result.findings)]
    homes = (inventory.away(disks).choices["workdir"] for disks, _workdir in inventory.DISKS)
    yield "homes that are not local", [f"{choice.value}  # {choice.why}" for choice in homes]
    for name, text in inventory.written(inventory.ORDERED).items():
        yield f"file: {name}", text.splitlines()


def test_what_discover_says() -> None:
    text = page_of(messages())
    assert text == kept("messages/discover.txt", text)
