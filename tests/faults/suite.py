# SPDX-License-Identifier: GPL-3.0-or-later
"""Inject faults into gangs of real runners, many times: how the run ended, and how long that took.

usage: python tests/faults/suite.py [--rounds 20] [--injections 200] [--kills 100] [--races 100] [--torch 5] [--seed 1]
           [--only WORDS] [--json FILE]
       python tests/faults/suite.py --write-docs FILE

Every round breaks a gang on this machine at a moment that the seed decides. It passes if all runners end, the verdict
is right, nothing of the run is left, and unrelated processes survive. Prints the rounds that passed and their seconds
(tests/faults/table.py has the bounds). FILE keeps the figures of the faults that --only leaves out. The second form
writes docs/faults.md with the figures that the first form wrote as JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

from ansible_collections.muster.train.tests.faults import figures, page
from ansible_collections.muster.train.tests.faults.table import FAULTS

TIMES = {"rounds": 20, "injections": 200, "kills": 100, "races": 100, "torch": 5}


def write_docs(source: Path) -> None:
    """Store the figures of a run of the suite, and write the page with them."""
    document = json.loads(source.read_text())
    missing = set(FAULTS) - {figure["fault"] for figure in document["figures"]}
    if missing:
        raise SystemExit(f"{source} has no figures of: {', '.join(sorted(missing))}")
    if source.resolve() != page.FIGURES:
        page.FIGURES.write_text(json.dumps(document, indent=2) + "\n")
    page.PAGE.write_text(page.page(document))


def store(figure: figures.Figure, seed: int, path: Path) -> None:
    """Put the figure into the file, in the table's order; the figures of other faults stay."""
    rows = json.loads(path.read_text())["figures"] if path.is_file() else []
    digests = {row["fault"]: row for row in rows} | {figure.fault: figure.digest()}
    document = figures.document([digests[name] for name in FAULTS if name in digests], seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2) + "\n")


def run(options: argparse.Namespace) -> list[figures.Figure]:
    """Make the selected faults, print their figures, and store each one at once: the whole suite takes half an hour."""
    print(figures.HEADERS)
    results = []
    for name, fault in FAULTS.items():
        if options.only not in name:
            continue
        results.append(figures.measure(fault, getattr(options, fault.times), options.seed, options.at_once))
        print(figures.line(results[-1]), flush=True)
        for wrong in results[-1].wrong:
            print(f"    {wrong}", flush=True)
        if options.json:
            store(results[-1], options.seed, options.json)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, times in TIMES.items():
        parser.add_argument(f"--{name}", type=int, default=times, metavar="N")
    parser.add_argument("--at-once", type=int, metavar="N", help="rounds side by side, instead of the table's number")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", metavar="WORDS", help="only faults whose name contains this text")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--write-docs", type=Path, metavar="FILE", help="write docs/faults.md with these figures")
    options = parser.parse_args()
    if options.write_docs:
        write_docs(options.write_docs)
        return
    results = run(options)
    wrong, late = sum(len(figure.wrong) for figure in results), sum(figure.late for figure in results)
    if wrong or late:
        raise SystemExit(f"{wrong} rounds failed; {late} took longer than the bound")


if __name__ == "__main__":
    main()
