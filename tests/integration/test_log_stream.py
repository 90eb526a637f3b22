# SPDX-License-Identifier: GPL-3.0-or-later
"""`logs -e follow=true`: what ranks write is shown while they run, until the run ends, the user interrupts, or dies."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for
from ansible_collections.muster.train.tests.support.terminal import on_terminal

LINE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) (node\d)/(rank\d|-) +\| (.*)")
CTRL_C = b"\x03"


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path, policy={"launch_defaults": {"script": "talker.py", "launcher": "python", "nproc": 1}})
    yield made
    made.destroy()


def lines_of(out: str) -> list[tuple[str, str, str, str]]:
    matches = (match for line in out.splitlines() if (match := LINE.match(line)))
    return [(match[1], match[2], match[3], match[4]) for match in matches]


def test_a_bar_and_the_end_are_seen_and_merged(talk: Cluster) -> None:
    assert talk.launch(script_args=["--seconds", "12", "--mib", "0.2"]).rc == 0
    played = talk.verb("logs", run_id=RUN_ID, follow=True, grep=r"^(rank|[ 0-9]+%)")
    assert played.rc == 0, played.out
    lines = lines_of(played.out)
    for node, rank in (("node0", "rank0"), ("node1", "rank1")):
        texts = [text for _time, at, who, text in lines if (at, who) == (node, rank)]
        assert any(re.match(r"rank \d ends at", text) for text in texts), played.out
        bars = [text for text in texts if "%|" in text]
        assert len(bars) <= 8
        assert bars[-1].startswith("100%")
    assert f"{RUN_ID} succeeded: " in played.out
    # What is written once a run has ended is what it wrote: the same as without following.
    last = lines_of(talk.verb("logs", run_id=RUN_ID, lines=1, grep="ends at").out)
    assert last == [max(line for line in lines if "ends at" in line[3])]


def test_only_one_rank_of_one_that_has_ended(talk: Cluster) -> None:
    assert talk.launch(follow=True, script_args=["--seconds", "0.1"]).rc == 0
    played = talk.verb("logs", run_id=RUN_ID, follow=True, rank=1, lines=1)
    assert played.rc == 0, played.out
    ((_time, node, rank, text),) = lines_of(played.out)
    assert (node, rank) == ("node1", "rank1") and text.startswith("rank 1 ends at")
    refused = talk.verb("logs", "-f", "1", run_id=RUN_ID, follow=True)
    assert refused.rc == 2
    assert refused.messages == [
        "follow: expected at most 1 nodes, as many as Ansible has forks, saw 2; give -f 2, or choose with -e rank=N or "
        "-e node=NAME"
    ]


def test_ctrl_c_stops_following_and_says_how_to_go_on(talk: Cluster) -> None:
    assert talk.launch(script_args=["--seconds", "600"]).rc == 0
    pressed: list[bytes] = []

    def press(screen: str) -> bytes:
        if "%|" in screen and not pressed:
            pressed.append(CTRL_C)
            return CTRL_C
        return b""

    played = on_terminal(talk, press, "playbooks/logs.yml", "-e", f"run_id={RUN_ID}", "-e", "follow=true")
    assert played.rc == 0, played.out
    assert "stopped following; the run goes on\n" in played.out
    assert re.search(rf"^follow them again: .*muster\.train\.logs -e run_id={RUN_ID} -e follow=true$", played.out, re.M)
    assert "Traceback" not in played.out
    assert talk.state("node0")["phase"] == "running"
    wait_for(lambda: talk.controllers() == [], "no process of a controller is left", 60)


def begin(talk: Cluster) -> subprocess.Popen[str]:
    controller = talk.begin("logs", follow=True)
    assert controller.stdout
    assert any("%|" in line for line in controller.stdout)
    return controller


def test_nothing_outlives_the_controller_or_its_reader(talk: Cluster) -> None:
    assert talk.launch(script_args=["--seconds", "600"]).rc == 0
    controller = begin(talk)
    controller.kill()
    controller.communicate(timeout=60)
    wait_for(lambda: talk.controllers() == [], "no worker outlives its controller", 60)
    controller = begin(talk)
    assert controller.stdout
    controller.stdout.close()
    assert controller.wait(timeout=60) == -signal.SIGPIPE
    wait_for(lambda: talk.controllers() == [], "no worker outlives the reader", 60)
