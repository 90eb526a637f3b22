# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs are read once: where a known line is, how often, and by which rank, whatever bytes a log has."""

from __future__ import annotations

import io
import random

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._results.signatures import scan
from ansible_collections.muster.train.plugins.plugin_utils._results.signatures.diagnosis import scanner
from ansible_collections.muster.train.plugins.plugin_utils._results.signatures.scan import Scanner, Sighting
from ansible_collections.muster.train.plugins.plugin_utils._results.signatures.signature import load, parse

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
NO_PLUGIN = (
    "n0:1:2 [0] NCCL INFO NET/Plugin : dlerror=libnccl-net.so: cannot open shared object file: No such file or "
    "directory No plugin found (libnccl-net.so), using internal implementation"
)
STEP = "2026-11-20T14:30:51.000Z step 1 loss 2.3\n"

ENTRY = """
- name: a
  line: "NCCL INFO the end"
  cause: c
  fix: f
  source: s
  example: x
  near_miss: y
"""


def sightings(log: str | bytes) -> list[Sighting]:
    return scanner().scan(io.BytesIO(log.encode() if isinstance(log, str) else log))


def facts(log: str | bytes) -> list[tuple[str, int | None, int, int, str | None]]:
    return [(one.signature.name, one.rank, one.count, one.line, one.time) for one in sightings(log)]


def test_a_log_is_counted_by_rank() -> None:
    lines = [f"2026-11-20T14:30:{50 + number}.5Z [rank{number % 2}]: {OOM}\n" for number in range(5)]
    assert facts(STEP + "".join(lines)) == [
        ("cuda_out_of_memory", 0, 3, 2, "2026-11-20 14:30:50.5"),
        ("cuda_out_of_memory", 1, 2, 3, "2026-11-20 14:30:51.5"),
    ]
    assert sightings(lines[0])[0].text == f"[rank0]: {OOM}"


@pytest.mark.parametrize("size", [100, 150, 333, 5000])
def test_blocks_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    log = f"{STEP * 3}{XID}\n{STEP}2026-11-20 14:30:52,123 {OOM}\n{STEP}{XID}"
    expected = [("xid_79", None, 2, 4, None), ("cuda_out_of_memory", None, 1, 6, "2026-11-20 14:30:52,123")]
    monkeypatch.setattr(scan, "BLOCK_BYTES", size)
    assert facts(log) == expected


def test_a_progress_bar_hides_nothing() -> None:
    log = "2026-11-20T14:30:52.123Z " + "".join(f"{at}%|##|\r" for at in range(50)) + f"{OOM}\r\n"
    assert facts(log) == [("cuda_out_of_memory", None, 1, 1, "2026-11-20 14:30:52.123")]
    assert sightings(log)[0].text == OOM


def test_a_line_without_an_end_is_read_in_bounded_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "BLOCK_BYTES", 10_000)
    (sighting,) = sightings("x" * 25_000 + " " + OOM + " " + "y" * 25_000)
    assert (sighting.signature.name, sighting.count) == ("cuda_out_of_memory", 1)
    assert len(sighting.text) <= 2 * scan.WINDOW_BYTES


def test_of_two_that_match_the_one_that_says_more_counts() -> None:
    assert [name for name, *_rest in facts(f"Memory cgroup out of memory: Killed process 1 (python)\n{XID}")] == [
        "oom_cgroup",
        "xid_79",
    ]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        (NO_PLUGIN, []),
        ("n0:1:2 [0] NCCL INFO NET/IB : No device found.", ["nccl_socket_fallback"]),
        (f"{OOM} {NO_PLUGIN}", ["cuda_out_of_memory"]),
        (NO_PLUGIN.partition("dlerror=")[2], ["library_missing"]),
    ],
)
def test_what_nccl_says_for_information_is_no_cause(line: str, names: list[str]) -> None:
    assert [name for name, *_rest in facts(line)] == names


def test_an_entry_that_names_information_finds_it() -> None:
    (entry,) = parse(ENTRY)
    assert Scanner([entry]).best(b"n0:1:2 [0] NCCL INFO the end") == entry


def test_ranks_beyond_the_bound_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "MOST_RANKS", 2)
    log = "".join(f"[rank{rank}]: {OOM}\n" for rank in range(6))
    assert [(one.rank, one.count) for one in sightings(log)] == [(0, 1), (1, 1), (None, 4)]


def test_no_log_is_an_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(42)
    examples = [entry.example.encode() for entry in load()]
    for _case in range(400):
        monkeypatch.setattr(scan, "BLOCK_BYTES", chance.choice((3, 50, 5000)))
        log = bytearray(b"\n".join(chance.choices(examples, k=5)))
        for _change in range(chance.randrange(30)):
            at = chance.randrange(len(log))
            log[at : at + chance.randrange(3)] = chance.choice(
                (b"\r", b"\n", b"\0", b"\xff", b"\xe2\x80", b"*", b"[rank")
            )
        for sighting in sightings(bytes(log)):
            assert sighting.count > 0
            assert sighting.line > 0


def test_a_log_is_no_template() -> None:
    text = "{{ lookup('pipe', 'id') }} <script>\x1b[2J " + OOM
    (sighting,) = sightings(text)
    assert sighting.text == text
