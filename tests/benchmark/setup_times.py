# SPDX-License-Identifier: GPL-3.0-or-later
"""How long `setup` and `preflight` take on three new hosts, and again when nothing changes.

usage: python tests/benchmark/setup_times.py [--runtime docker]

Creates the tests' hosts (tests/cluster, needs a Docker Engine) and removes them. Targets on 2 cores: 90 s the first
time with the image present, 15 s when nothing changes.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

from ansible_collections.muster.train.tests.support import real_hosts
from ansible_collections.muster.train.tests.support.play import PLAYBOOK, run_to_end


def play(verb: str, runtime: str) -> float:
    """Run a verb's playbook on the hosts; return the seconds."""
    inventory, variable = str(real_hosts.ALIKE.inventory), f"launch_runtime={runtime}"
    command = [*PLAYBOOK, "-i", inventory, f"muster.train.{verb}", "-e", variable]
    begun = time.monotonic()
    done = run_to_end(command, real_hosts.environment(), timeout=None)
    seconds = time.monotonic() - begun
    if done.rc != 0:
        raise SystemExit(f"{verb} failed:\n{done.out}")
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runtime", choices=("docker", "host"), default="docker")
    runtime = parser.parse_args().runtime
    why_not = real_hosts.why_not()
    if why_not:
        raise SystemExit(why_not)
    try:
        real_hosts.ALIKE.play("create")
        for name, verb in (
            ("setup, the first time", "setup"),
            ("setup, nothing changes", "setup"),
            ("preflight", "preflight"),
        ):
            print(f"{name:24} {play(verb, runtime):5.1f} s", flush=True)
    finally:
        real_hosts.ALIKE.play("destroy")


if __name__ == "__main__":
    main()
