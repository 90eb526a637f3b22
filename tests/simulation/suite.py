# SPDX-License-Identifier: GPL-3.0-or-later
"""Run histories of simulated gangs, and print those that violate what must hold (tests/simulation/checks.py).

usage: python tests/simulation/suite.py [--histories 20000] [--first 1] [--until-first]
       python tests/simulation/suite.py --seed SEED
       python tests/simulation/suite.py --defects

The first form runs so many histories, one a seed. The second form runs the history of one seed, leaving out the faults
without which it fails too, and prints what happened in it. The third form plants the defects of
tests/simulation/defects.yml, one by one: each must be found.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

from ansible_collections.muster.train.tests.simulation import planted
from ansible_collections.muster.train.tests.simulation.checks import violations
from ansible_collections.muster.train.tests.simulation.history import History
from ansible_collections.muster.train.tests.simulation.scenario import make_scenario, shrink


def show(seed: int) -> int:
    """Print one history; return whether it fails."""
    scenario = make_scenario(seed)
    if violations(History(scenario).run()):
        scenario = shrink(scenario, lambda smaller: bool(violations(History(smaller).run())))
    history = History(scenario, is_traced=True).run()
    wrong = violations(history)
    print(scenario, *history.world.lines, *wrong, sep="\n")
    return int(bool(wrong))


def run(first: int, histories: int, until_first: bool) -> int:
    """Run histories; return whether one fails."""
    began, failed, count = time.process_time(), 0, 0
    while count < histories and not (failed and until_first):
        wrong = violations(History(make_scenario(first + count)).run())
        for text in wrong:
            print(f"seed {first + count}: {text}", flush=True)
        failed, count = failed + bool(wrong), count + 1
    seconds = time.process_time() - began
    print(f"{count} histories, {failed} failed, {seconds:.0f} s of CPU, {count / seconds:.0f} histories a second")
    return int(failed > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=20_000, metavar="N")
    parser.add_argument("--first", type=int, default=1, metavar="SEED")
    parser.add_argument("--until-first", action="store_true", help="stop at the first history that fails")
    parser.add_argument("--seed", type=int, help="show the history of this seed")
    parser.add_argument("--defects", action="store_true")
    options = parser.parse_args()
    if options.defects:
        return planted.find_defects()
    if options.seed is not None:
        return show(options.seed)
    return run(options.first, options.histories, options.until_first)


if __name__ == "__main__":
    sys.exit(main())
