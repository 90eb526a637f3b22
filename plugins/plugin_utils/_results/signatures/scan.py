# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs of any size, read once in bounded memory, for lines that the catalog has.

Few lines are looked at one by one: in a block of a log, words are searched that such lines contain, and a signature is
compared with the lines that have its word. A log is bytes of whatever a program wrote.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .pattern import Pattern
from .signature import NOTICE, Signature

BLOCK_BYTES = 1 << 20
# Of a line, on each side of a word: progress bars write lines without end.
WINDOW_BYTES = 2048
# Ranks of one log that are counted one by one.
MOST_RANKS = 4096
# Numbers and signs are half of a log, and searching costs what it has: most words are not even in its letters.
NO_LETTERS = bytes(sign for sign in range(256) if not bytes([sign]).isalpha())
# A pattern is searched by the first of these words that it contains, else by its longest text. A text of ten signs is
# found at 3 GB/s, a word of four at half of that: a word pays where it stands for many patterns and is rare in logs.
WORDS = tuple(
    word.encode()
    for word in (
        *("Xid (PCI", "Got completion", "NCCL WARN ", "exitcode", "_STATUS_", "mlx5_core", "ImagePull", "credential"),
        *("nodes are available", "death signal", "Signal", "SIG", "Errno", "errno", "DMAR: ", "Too many "),
        *("aborted", "timed out", "imeout", "xceeded", "illed", "ermission", "onnection", " device", "nvalid"),
        *("sudo: ", "No such file", "able", "not ", "iled", "rror"),
    )
)
_STAMP = re.compile(rb"[\[(]?(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)Z?[\])]? ?")
# What NCCL says behind this made nothing fail.
_INFORMATION = b"NCCL INFO"
_RANK = re.compile(rb"\[rank(\d{1,7})\]")


@frozen
class Sighting:
    """Where a signature is in one log: how often, and its first line with its number and time (UTC or the log's own).

    rank is the one that a line names, None where it names none.
    """

    signature: Signature
    rank: int | None
    count: int
    line: int
    time: str | None
    text: str


class Scanner:
    """A catalog that is ready to be compared with logs."""

    def __init__(self, signatures: Iterable[Signature]) -> None:
        # The patterns of each word, those that say most first.
        self._by_word: dict[bytes, list[tuple[int, Pattern, Signature]]] = {}
        for signature in signatures:
            for pattern in signature.patterns:
                self._by_word.setdefault(_word_of(pattern), []).append((pattern.size, pattern, signature))
        for patterns in self._by_word.values():
            patterns.sort(key=lambda entry: -entry[0])
        self._words = [(word, word.translate(None, NO_LETTERS)) for word in self._by_word]

    def best(self, line: bytes) -> Signature | None:
        """Return the signature that says most of a line, None where none matches."""
        return self._best(line, [word for word in self._by_word if word in line])

    def scan(self, stream: BinaryIO) -> list[Sighting]:
        """Read a log to its end; return its sightings in the order of their first lines."""
        first: dict[tuple[str, int | None], Sighting] = {}
        counts: dict[tuple[str, int | None], int] = {}
        lines_before = 0
        for block in _blocks(stream):
            before: tuple[int, Signature | None] = (0, None)
            for start, end, words in self._candidates(block):
                line = block[start:end]
                signature = self._best(line, words)
                # Two words of a line without an end have a window each.
                is_known = start < before[0] and signature is before[1]
                before = (end, signature)
                if signature is None or is_known:
                    continue
                rank = _rank_of(line) if len(counts) < MOST_RANKS else None
                key = (signature.name, rank)
                counts[key] = counts.get(key, 0) + 1
                if key not in first:
                    number = lines_before + block.count(b"\n", 0, start) + 1
                    stamp = _STAMP.match(line)
                    text = line[stamp.end() if stamp else 0 :].decode("utf-8", "replace")
                    first[key] = Sighting(signature, rank, 0, number, _time_of(block, start), text)
            lines_before += block.count(b"\n")
        return [dataclasses.replace(sighting, count=counts[key]) for key, sighting in first.items()]

    def _best(self, line: bytes, words: Iterable[bytes]) -> Signature | None:
        best: tuple[int, Signature] | None = None
        failure = line.partition(_INFORMATION)[0]
        for word in words:
            for size, pattern, signature in self._by_word[word]:
                if best is not None and size <= best[0]:
                    break
                is_whole = signature.kind == NOTICE or any(_INFORMATION in part for part in pattern.parts)
                if pattern.matches(line if is_whole else failure):
                    best = (size, signature)
                    break
        return best[1] if best else None

    def _candidates(self, block: bytes) -> list[tuple[int, int, Sequence[bytes]]]:
        """Return (start, end, words) of the lines with a word, in their order."""
        candidates: dict[int, tuple[int, list[bytes]]] = {}
        letters = block.translate(None, NO_LETTERS)
        for word, word_letters in self._words:
            if word_letters not in letters:
                continue
            at = block.find(word)
            while at >= 0:
                start, end = _line_around(block, at)
                known = candidates.setdefault(start, (end, []))
                known[1].append(word)
                at = block.find(word, end)
        return [(start, *candidates[start]) for start in sorted(candidates)]


def _word_of(pattern: Pattern) -> bytes:
    for word in WORDS:
        if any(word in part for part in pattern.parts):
            return word
    return max(pattern.parts, key=len)


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Read a log in blocks of whole lines, of which one without an end is cut."""
    rest = b""
    while block := stream.read(BLOCK_BYTES):
        block = rest + block
        end = block.rfind(b"\n") + 1
        if not end and len(block) > BLOCK_BYTES:
            end = len(block)
        if end:
            yield block[:end]
        rest = block[end:]
    if rest:
        yield rest


def _line_around(block: bytes, at: int) -> tuple[int, int]:
    """Return where the line of a place begins and ends; a carriage return, as progress bars write, begins another."""
    first, last = max(0, at - WINDOW_BYTES), min(len(block), at + WINDOW_BYTES)
    start = max(block.rfind(b"\n", first, at), block.rfind(b"\r", first, at)) + 1 or first
    for end in (b"\n", b"\r"):
        place = block.find(end, at, last)
        last = place if place >= 0 else last
    return start, last


def _time_of(block: bytes, start: int) -> str | None:
    """Return the time that stands in front of a line, also where a progress bar stands between them."""
    begin = block.rfind(b"\n", max(0, start - WINDOW_BYTES), start) + 1
    match = _STAMP.match(block, begin, begin + 64)
    return f"{match[1].decode()} {match[2].decode()}" if match else None


def _rank_of(line: bytes) -> int | None:
    match = _RANK.search(line, 0, 64)
    return int(match[1]) if match else None
