# SPDX-License-Identifier: GPL-3.0-or-later
"""What setup and teardown say in every case that their tests have: tests/screens/messages/setup.txt."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.muster.train.plugins.module_utils._records.file_tree import TreeDifference
from ansible_collections.muster.train.plugins.plugin_utils._request.memory_limit import parse_limit
from ansible_collections.muster.train.plugins.plugin_utils._setup.copied_code import ARCHIVE, show_difference
from ansible_collections.muster.train.plugins.plugin_utils._setup.memlock_engine import ENGINE_FILE
from ansible_collections.muster.train.plugins.plugin_utils._setup.teardown import lines
from ansible_collections.muster.train.tests.support.memlock_parts import MIB, node, planned
from ansible_collections.muster.train.tests.support.screens import Message, errors, kept, page_of
from ansible_collections.muster.train.tests.unit.plugin_utils._setup import test_compose, test_memlock, test_teardown
from ansible_collections.muster.train.tests.unit.plugin_utils._setup import test_memlock_proof as proof


def messages() -> Iterator[Message]:
    edit = TreeDifference(["package", "package/words.py"], ["train.py"], ["old.py"])
    yield "code: a difference", [show_difference(edit, "/home/ann/mymodel", "/workspace/code", ARCHIVE)]
    yield "container: refused", [test_compose.refusal(**options) for options in test_compose.REFUSED]
    for name, facts in {**test_memlock.IN_USE, "a container without GPUs": test_memlock.WITH_WEB}.items():
        yield f"memlock: {name}", planned(facts)["pending"]
    yield "memlock: a lingering user", test_memlock.for_login(linger=True)["pending"]
    limited = node(files={ENGINE_FILE: test_memlock.limited(MIB)})
    yield "memlock: a limit of others", planned(limited, state="absent")["stays"]
    yield "memlock: a limit that was changed", planned(test_memlock.CHANGED, state="absent")["stays"]
    yield "memlock: refused", [test_memlock.refusal(facts, name) for facts, name in test_memlock.REFUSED]
    yield "memlock: no limits", errors(parse_limit, proof.NO_LIMITS)
    yield "memlock: no configurations", errors(proof.set_limit, proof.NO_CONFIGURATIONS)
    for name, (verdict, problems, unknown) in proof.VERDICTS.items():
        if problems or unknown:
            yield f"memlock: {name}", [*verdict["problems"], *verdict["unknown"]]
    yield "teardown: done", lines(test_teardown.DONE, False, 100)
    yield "teardown: in check mode", lines(test_teardown.DONE, True, 100)
    yield "teardown: failed", lines(test_teardown.FAILED, False, 120)


def test_what_setup_and_teardown_say() -> None:
    text = page_of(messages())
    assert text == kept("messages/setup.txt", text)
