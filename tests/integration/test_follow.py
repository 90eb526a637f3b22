# SPDX-License-Identifier: GPL-3.0-or-later
"""Following a run: one line drawn in place on a terminal, plain lines elsewhere; Ctrl-C leaves the run alone."""

from __future__ import annotations

import json
import re

import pytest

from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.terminal import on_terminal

CTRL_C = b"\x03"
# One line up, to its beginning, cleared: the next text takes the place of the last.
OVER = "\x1b[1A\r\x1b[K"


def launching(*script_args: str, **parameters: object) -> tuple[str, str, str]:
    given = {"run_id": RUN_ID, "script_args": list(script_args), **parameters}
    return "launch.yml", "-e", json.dumps(given)


def assert_hints_before(out: str, progress: str) -> None:
    hints, drawing, _after = out.partition(progress)
    assert drawing, out
    assert f"run {RUN_ID}\n" in hints
    for title, verb in (("follow again", "follow"), ("stop", "stop")):
        command = rf"^  {title}: +ansible-playbook .* muster\.train\.{verb} -e run_id={RUN_ID}$"
        assert re.search(command, hints, re.MULTILINE)


@pytest.mark.gate
def test_one_line_is_drawn_in_place(cluster: Cluster) -> None:
    played = on_terminal(cluster, lambda screen: b"", *launching("--seconds", "4"))
    assert played.rc == 0, played.out
    assert_hints_before(played.out, OVER)
    drawn = [part.split("\n")[0] for part in played.out.split(OVER)[1:]]
    steps = [int(match[1]) for line in drawn if (match := re.match(r"[a-z]+  step (\d+)/40  loss ", line))]
    assert len(steps) >= 2
    assert steps == sorted(steps)
    assert re.fullmatch(r"succeeded  step 40/40  loss 0\.125  10 tokens/s  \d+:\d\d elapsed", drawn[-1])
    # The line is the only one: nothing else was printed between its first and its last text.
    assert played.out[played.out.index(OVER) : played.out.rindex(OVER)].count("\n") == len(drawn) - 1
    assert f"{RUN_ID}  succeeded · " in played.out


@pytest.mark.gate
def test_ctrl_c_ends_the_following_and_not_the_run(cluster: Cluster) -> None:
    pressed: list[str] = []

    def press(screen: str) -> bytes:
        if pressed or f"{OVER}running  step " not in screen:
            return b""
        pressed.append(screen)
        return CTRL_C

    played = on_terminal(cluster, press, *launching("--seconds", "600"))
    assert pressed, played.out
    assert played.rc == 0, played.out
    after = played.out[len(pressed[0].replace("\r\n", "\n")) :]
    assert f"{RUN_ID} is still running; nothing was collected\n" in after
    assert f"muster.train.follow -e run_id={RUN_ID}\n" in after
    assert f"muster.train.stop -e run_id={RUN_ID}\n" in after
    assert "Collect the run from every node" not in played.out
    assert not (cluster.experiments / RUN_ID / "outputs").exists()
    assert cluster.verb("status").phases == {"node0": "running", "node1": "running"}
    assert len(cluster.processes(RUN_ID)) >= 4


def test_plain_lines_without_a_terminal(cluster: Cluster) -> None:
    played = cluster.launch(script_args=["--seconds", "3"], follow=True)
    assert played.rc == 0, played.out
    assert "\x1b" not in played.out
    assert "\r" not in played.out
    assert_hints_before(played.out, "running  ")
    lines = [line for line in played.out.splitlines() if re.match(r"[a-z]+  .*\d elapsed", line)]
    assert len(lines) >= 2
    assert re.match(r"succeeded  step 30/30  loss 0\.1667  10 tokens/s  ", lines[-1])
