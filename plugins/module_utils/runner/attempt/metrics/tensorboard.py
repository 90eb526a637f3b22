# SPDX-License-Identifier: GPL-3.0-or-later
"""TensorBoard's event files: records as TFRecord frames them, each an Event in the wire format of protobuf.

The sums that guard the records are not checked: a file that is damaged gives wrong numbers, not an error.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterator

from ...._records.frozen import frozen
from ...._records.run import Progress
from .numbers import loss_of

# tfevents.<time of its creation>.<host name>…: the writers' names differ behind that.
NAME = re.compile(r"events\.out\.tfevents\.[0-9]{1,12}\..{1,200}")
# A record of a scalar has less than a hundred bytes; images and graphs are skipped.
LONGEST_RECORD, MOST_FIELDS = 4096, 200
_HEADER = struct.Struct("<QI")  # length and its sum; the sum of the data follows that
_SUM = 4
_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_TOKENS = ("tokens_per_second", "tokens_per_sec", "tokens_per_s", "train/tokens_per_second", "train/tokens_per_s")
_SAMPLES = ("samples_per_second", "samples_per_sec", "samples_per_s", "train/samples_per_second")


@frozen
class Scalar:
    """One value: its tag, its step, and the seconds since the epoch at which it was written."""

    tag: str
    step: int
    value: float
    at: float


def parse_events(data: bytes) -> tuple[list[Scalar], int]:
    """Return the scalars of whole records, and where the next record begins, which may be behind the data."""
    scalars: list[Scalar] = []
    place = 0
    while place + _HEADER.size <= len(data):
        length, _sum = _HEADER.unpack_from(data, place)
        begin = place + _HEADER.size
        if length <= LONGEST_RECORD:
            if begin + length + _SUM > len(data):
                break
            scalars += _scalars(data[begin : begin + length])
        # Of a damaged file the length may be more than can be sought.
        place = min(begin + length + _SUM, sys.maxsize)
    return scalars, place


def _scalars(event: bytes) -> list[Scalar]:
    """Return the scalars of an Event: wall_time 1, step 2, summary 5, whose values (1) have tag 1 and simple_value 2.

    Newer writers put a tensor (8) in place of simple_value, with its floats in 4 (tensor_content) or 5 (float_val).
    """
    at, step = 0.0, 0
    parts: list[bytes] = []
    for number, value in _fields(event):
        if number == 1 and isinstance(value, bytes) and len(value) == 8:
            at = struct.unpack("<d", value)[0]
        elif number == 2 and isinstance(value, int):
            step = value
        elif number == 5 and isinstance(value, bytes):
            parts += [item for name, item in _fields(value) if name == 1 and isinstance(item, bytes)]
    scalars = (_scalar(part, step, at) for part in parts)
    return [scalar for scalar in scalars if scalar is not None]


def _scalar(value: bytes, step: int, at: float) -> Scalar | None:
    tag, number = "", None
    for name, part in _fields(value):
        if name == 1 and isinstance(part, bytes):
            tag = part.decode("utf-8", "replace")
        elif name == 2 and isinstance(part, bytes) and len(part) == 4:
            number = struct.unpack("<f", part)[0]
        elif name == 8 and isinstance(part, bytes):
            floats = [inner for kind, inner in _fields(part) if kind in (4, 5) and isinstance(inner, bytes)]
            number = struct.unpack("<f", floats[0])[0] if floats and len(floats[0]) == 4 else number
    return None if number is None else Scalar(tag, step, number, at)


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and the value of each field until something is not a field."""
    place = 0
    for _field in range(MOST_FIELDS):
        key, place = _varint(data, place)
        if key is None:
            return
        number, kind = key >> 3, key & 7
        size: int | None = {_EIGHT: 8, _FOUR: 4}.get(kind)
        if kind == _VARINT:
            value, place = _varint(data, place)
            if value is None:
                return
            yield number, value
            continue
        if kind == _BYTES:
            size, place = _varint(data, place)
        if size is None or place + size > len(data):
            return
        yield number, data[place : place + size]
        place += size


def _varint(data: bytes, place: int) -> tuple[int | None, int]:
    """Return a number of at most 64 bits and what follows it; None where there is none."""
    value = 0
    for count, byte in enumerate(data[place : place + 10]):
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, place + count + 1
    return None, place


def progress_of(scalars: list[Scalar]) -> Progress | None:
    """Return the last loss, with its step, and the first; the speed of the last step. None without any loss."""
    values: dict[str, Scalar] = {}
    firsts: dict[str, Scalar] = {}
    for scalar in scalars:
        values[scalar.tag.lower()] = scalar
        firsts.setdefault(scalar.tag.lower(), scalar)
    loss = loss_of({name: number for number, name in enumerate(values)})
    if loss is None:
        return None
    name = list(values)[int(loss)]
    first, last = firsts[name], values[name]
    seconds = last.at - first.at
    return Progress(
        step=last.step,
        loss=last.value,
        tokens_per_s=next((values[tag].value for tag in _TOKENS if tag in values), None),
        samples_per_s=next((values[tag].value for tag in _SAMPLES if tag in values), None),
        steps_per_s=(last.step - first.step) / seconds if seconds > 0 and last.step > first.step else None,
        first_loss=first.value,
    )
