# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run costs as a point of a sweep, beside the same launch by hand: two local nodes, one round after the other.

A sweep of one point tells what is done once for all points, such as the start of its own command and its page. The rest
is what each further point costs over the bare launch, which should be less than 2 s on two cores.

usage: python tests/benchmark/sweep_cost.py [--points 4]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

from ansible_collections.muster.train.tests.support.cluster import Cluster


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=4)
    count = parser.parse_args().points
    with tempfile.TemporaryDirectory() as home:
        place = Path(home, "cluster")
        place.mkdir()
        policy = {"launch_defaults": {"script": "surface.py", "launcher": "python", "nproc": 1}}
        cluster = Cluster(place, policy=policy)
        others = {"B": "1", "CURE": "/nonexistent"}
        try:
            times = []
            for _round in range(count):
                begun = time.monotonic()
                launched = cluster.verb("launch", env={"A": "1", **others})
                times.append(time.monotonic() - begun)
                assert launched.rc == 0, launched.out
            one, whole = (_time_sweep(cluster, points, others) for points in (1, count))
        finally:
            cluster.destroy()
    alone, further = statistics.median(times), (whole - one) / (count - 1)
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"load {load} on {os.cpu_count()} cores")
    print(f"a launch by hand: {alone:.2f} s (median of {count}, {min(times):.2f} to {max(times):.2f} s)")
    print(f"a sweep of one point: {one:.2f} s, of {count}: {whole:.2f} s; done once: {one - further:.2f} s")
    for what, seconds in (("each further point", further), ("a point with its part of that", whole / count)):
        print(f"{what}: {seconds:.2f} s, {seconds - alone:+.2f} s over the launch ({seconds / alone:.2f} times)")


def _time_sweep(cluster: Cluster, points: int, environment: dict[str, str]) -> float:
    """Return the seconds of a new sweep over so many points."""
    begun = time.monotonic()
    axes = {"env.A": list(map(str, range(points)))}
    swept = cluster.verb("sweep", sweep=axes, env=environment, preflight=False)
    assert swept.rc == 0, swept.out
    return time.monotonic() - begun


if __name__ == "__main__":
    main()
