# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run costs as a point of a sweep, beside the same launch by hand: two local nodes, one round after the other.

usage: python tests/benchmark/sweep_cost.py [--points 4]
"""

from __future__ import annotations

import argparse
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
            begun = time.monotonic()
            axes = {"env.A": list(map(str, range(count)))}
            swept = cluster.verb("sweep", sweep=axes, env=others, preflight=False)
            whole = time.monotonic() - begun
            assert swept.rc == 0, swept.out
        finally:
            cluster.destroy()
    alone = statistics.median(times)
    print(
        f"a launch by hand: {alone:.2f} s (median of {count}); a sweep of {count} points: {whole:.2f} s, "
        f"{whole / count:.2f} s a point, {whole / count - alone:+.2f} s ({whole / count / alone:.2f} times)"
    )


if __name__ == "__main__":
    main()
