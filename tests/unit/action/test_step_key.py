# SPDX-License-Identifier: GPL-3.0-or-later
"""The key that a step derives: the workers of all hosts have the same one, and no other launch has it."""

from __future__ import annotations

import os

import pytest

from ansible_collections.muster.train.plugins.action import step


def test_the_workers_of_a_launch_derive_one_key() -> None:
    reader, writer = os.pipe()
    if not (worker := os.fork()):
        os.write(writer, step._derive_key("nonce").encode())
        os._exit(0)
    os.waitpid(worker, 0)
    assert os.read(reader, 100).decode() == step._derive_key("nonce")
    os.close(reader)
    os.close(writer)


def test_a_key_is_that_of_one_launch_of_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [step._derive_key("nonce"), step._derive_key("another")]
    monkeypatch.setattr(step, "SECRET", bytes(32))
    keys.append(step._derive_key("nonce"))
    assert [len(bytes.fromhex(key)) for key in {*keys}] == [32, 32, 32]
