# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines between runners: only the other side's next line opens."""

from __future__ import annotations

import json

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner.gang.frames import (
    AUTHENTICATED_BYTES,
    FROM_HEAD,
    FROM_MEMBER,
    UNAUTHENTICATED_BYTES,
    Forged,
    Lines,
    Session,
    is_proof,
    parse,
    proof,
    short,
)

KEY = b"k" * 32


def pair(key: bytes = KEY, rank: int = 1, nonces: tuple[str, str] = ("a", "b")) -> tuple[Session, Session]:
    return Session(key, "run 1", rank, nonces, FROM_HEAD), Session(key, "run 1", rank, nonces, FROM_MEMBER)


def sealed(session: Session, **message: object) -> bytes:
    line = session.seal(dict(message))
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    return line[:-1]


def test_each_side_opens_what_the_other_sealed() -> None:
    head, member = pair()
    for number in range(3):
        assert member.open(sealed(head, number=number)) == {"number": number}
        assert head.open(sealed(member, text="ä\n")) == {"text": "ä\n"}


def test_a_line_opens_once_and_in_its_order() -> None:
    head, member = pair()
    first, second = sealed(head, number=1), sealed(head, number=2)
    with pytest.raises(Forged):
        member.open(second)
    assert member.open(first) == {"number": 1}
    with pytest.raises(Forged):
        member.open(first)
    assert member.open(second) == {"number": 2}


def test_a_line_does_not_open_on_the_side_that_sealed_it() -> None:
    head, _member = pair()
    with pytest.raises(Forged):
        head.open(sealed(head, number=1))


@pytest.mark.parametrize(
    ("key", "rank", "nonces"),
    [(b"x" * 32, 1, ("a", "b")), (KEY, 2, ("a", "b")), (KEY, 1, ("a", "c")), (KEY, 1, ("c", "b"))],
)
def test_another_connection_has_another_key(key: bytes, rank: int, nonces: tuple[str, str]) -> None:
    head, _member = pair()
    _head, member = pair(key, rank, nonces)
    with pytest.raises(Forged):
        member.open(sealed(head, number=1))


def test_a_changed_line_does_not_open() -> None:
    line = sealed(pair()[0], number=1)
    for place in range(len(line)):
        changed = line[:place] + bytes([line[place] ^ 1]) + line[place + 1 :]
        with pytest.raises(Forged):
            pair()[1].open(changed)


@pytest.mark.parametrize("line", [b"", b" ", b"0" * 64, b"\xff\xfe \xff", b"null", b"[1]", b'"x"', b"{", b"[" * 400])
def test_a_line_that_is_not_a_message_is_forged(line: bytes) -> None:
    with pytest.raises(Forged):
        pair()[1].open(line)
    with pytest.raises(Forged):
        parse(line)


def test_parts_of_a_proof_do_not_run_into_each_other() -> None:
    assert proof(KEY, "ab", "c") != proof(KEY, "a", "bc")
    assert is_proof(proof(KEY, "ab", 1), KEY, "ab", "1")
    for wrong in (None, "", 1, "ä", proof(b"x" * 32, "ab", 1)):
        assert not is_proof(wrong, KEY, "ab", 1)


def test_a_text_is_cut_to_the_bytes_that_its_json_takes() -> None:
    for letter in ("a", "\U0001f525", "\x01", "\ud800", "\u2500"):
        for limit in (2, 100, 901):
            cut = short(letter * 1000, limit)
            assert len(json.dumps(cut)) <= limit < len(json.dumps(cut + letter))
    assert short("as it is", 100) == "as it is"


def test_lone_surrogates_can_be_proven() -> None:
    assert not is_proof("\ud800", KEY, "\udfff")


def test_lines_are_whole_however_they_arrive() -> None:
    lines, complete = Lines(), []
    for byte in b"one\n\ntwo\nthr":
        lines.feed(bytes([byte]))
        while (line := lines.take()) is not None:
            complete.append(line)
    assert complete == [b"one", b"", b"two"]


@pytest.mark.parametrize("limit", [UNAUTHENTICATED_BYTES, AUTHENTICATED_BYTES])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_line_that_is_too_long_is_forged(limit: int, end: bytes) -> None:
    lines = Lines()
    lines.limit = limit
    lines.feed(b"x" * (limit - 1) + b"\n")
    assert lines.take() == b"x" * (limit - 1)
    lines.feed(b"x" * limit + end)
    with pytest.raises(Forged, match="too long"):
        lines.take()
