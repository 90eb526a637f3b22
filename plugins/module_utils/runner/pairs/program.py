# SPDX-License-Identifier: GPL-3.0-or-later
"""The ranks of `pairs`: each measures with the rank of the same rail on the node that the head names, round by round.

There is no process group of all ranks, which one broken link would prevent. The ranks meet in the store of torchrun,
whose messages are small, and each pair has a group of its own, in a process that can be killed. Rank 0 leads.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from ..._records.pairs import FAILED, MEASURED, RESULT, STALLED, PairSample
from ..attempt.collectives import write
from . import probe, transfer
from .apart import run_apart
from .ends import joined
from .rounds import Pair
from .search import CulpritSearch

ALONE, END = "-1", "end"
# Beyond the time limit of a pair: a process that begins, an answer that is on its way.
GRACE_S = 10.0
# Beyond the time limit of a pair, how long a rank waits for a round: the head judges thousands of samples.
PATIENCE_S = 600.0
MOST_WHY = 300


class PairRank:
    """One rank: its node, its rail, and the store in which it meets the others."""

    def __init__(self, torch: Any, options: argparse.Namespace, environment: Mapping[str, str]) -> None:
        self.torch, self.options = torch, options
        self.rails = int(environment["LOCAL_WORLD_SIZE"])
        self.node, self.rail = divmod(int(environment["RANK"]), self.rails)
        self.nodes = int(environment["WORLD_SIZE"]) // self.rails
        self.head, self.port = environment["MASTER_ADDR"], int(environment["MASTER_PORT"])
        # The plan sets one, the same for all that TCP does between the nodes.
        names = environment.get("GLOO_SOCKET_IFNAME") or environment.get("NCCL_SOCKET_IFNAME") or ""
        self.interface = names.lstrip("=").partition(",")[0]
        self.attempt = environment.get("TORCHELASTIC_RESTART_COUNT", "0")
        self.store = self.new_store()

    def new_store(self) -> Any:
        """Return a connection to the store, which a process shares with no other."""
        dist, patience = self.torch.distributed, timedelta(seconds=self.options.pair_limit + PATIENCE_S)
        store = dist.TCPStore(self.head, self.port, is_master=False, timeout=patience, wait_for_workers=False)
        return dist.PrefixStore(f"muster/pairs/{self.attempt}", store)

    def take_part(self, number: int) -> bool:
        """Measure in this round; return False where the search has ended."""
        partner = self.store.get(f"{number}/{self.node}").decode()
        if partner == END:
            return False
        if partner != ALONE:
            sample = self.sample(number, int(partner))
            self.store.set(f"{number}/{self.node}/{self.rail}", json.dumps(sample.to_list()))
        return True

    def sample(self, number: int, partner: int) -> PairSample:
        """Measure with the rank of the same rail on another node."""
        first, second = sorted((self.node, partner))
        limit_s = self.options.pair_limit
        answer = run_apart(lambda: self.measure(f"{number}/{first}/{self.rail}", self.node == first), limit_s)
        outcome, why = answer.get("outcome", MEASURED), answer.get("why", "")
        if "error" in answer:
            outcome, why = FAILED, answer["error"]
        towards = None if answer.get("towards_first") is None else first if answer["towards_first"] else second
        numbers = {name: answer.get(name) for name in ("latency_s", "bandwidth", "resent", "segment")}
        why = " ".join(why.split())[:MOST_WHY]
        return PairSample(number, first, second, self.rail, outcome, **numbers, why=why, towards=towards)

    def measure(self, name: str, is_first: bool) -> dict[str, Any]:
        """Measure as one of the two ranks of a pair, in a process of its own."""
        store = self.torch.distributed.PrefixStore(f"pair/{name}", self.new_store())
        store.set_timeout(timedelta(seconds=self.options.pair_limit))
        known: dict[str, Any] = {}
        try:
            # One connection between two nodes is enough.
            known = asdict(self.probe(store, is_first)) if self.rail == 0 else {}
        except probe.ProbeError as error:
            return {"outcome": error.outcome, "why": str(error), "towards_first": error.is_towards_first}
        backend = self.options.backend
        device = f"cuda:{self.rail}" if backend == "nccl" else "cpu"
        place, size = (0 if is_first else 1), self.options.bytes
        return {
            **known,
            **asdict(transfer.measure(self.torch, backend, store, place, device, size, self.options.pair_limit)),
        }

    def probe(self, store: Any, is_first: bool) -> probe.Probe:
        """Measure by TCP: the second rank connects to the first one, and then the other way."""
        listener = probe.listen(probe.local_address(self.interface, self.head), self.options.pair_limit)
        names = ("first", "second") if is_first else ("second", "first")
        store.set(names[0], "{}|{}".format(*listener.getsockname()[:2]))
        address, port = store.get(names[1]).decode().rsplit("|", 1)
        return probe.measure(listener, address, int(port), is_first)


class Leader:
    """What rank 0 does besides: it tells the nodes their partners, gathers what they measured, and judges it."""

    def __init__(self, rank: PairRank) -> None:
        options = rank.options
        self.rank = rank
        self.search = CulpritSearch(rank.nodes, options.rounds, options.tolerance / 100)

    def run(self) -> None:
        """Lead all rounds, take part in them, and write what they lead to."""
        number = 0
        for number, pairs in enumerate(self.search.rounds(), 1):
            self.announce(number, pairs)
            self.rank.take_part(number)
            samples = self.gather(number, pairs)
            self.search.add(samples)
            self.show(number, pairs, samples)
            self.write(number)
        self.write(number)
        self.tell(number + 1, dict.fromkeys(range(self.rank.nodes), END))

    def announce(self, number: int, pairs: Iterable[Pair]) -> None:
        """Tell each node its partner."""
        partners = dict.fromkeys(range(self.rank.nodes), ALONE)
        for first, second in pairs:
            partners.update({first: str(second), second: str(first)})
        self.tell(number, partners)

    def tell(self, number: int, words: Mapping[int, str]) -> None:
        """Give each node its word for a round."""
        for node, word in words.items():
            self.rank.store.set(f"{number}/{node}", word)

    def gather(self, number: int, pairs: Iterable[Pair]) -> list[PairSample]:
        """Return what all pairs have measured; a rank that says nothing has stalled."""
        patience = timedelta(seconds=self.rank.options.pair_limit + GRACE_S)
        samples = []
        for first, second in pairs:
            for rail in range(self.rank.rails):
                ends = []
                for node in (first, second):
                    try:
                        self.rank.store.wait([f"{number}/{node}/{rail}"], patience)
                        ends.append(PairSample(*json.loads(self.rank.store.get(f"{number}/{node}/{rail}"))))
                    except RuntimeError:  # torch's own are among these
                        ends.append(PairSample(number, first, second, rail, STALLED, why="no word of a rank"))
                        patience = timedelta(seconds=1)
                samples.append(joined(ends))
        return samples

    def show(self, number: int, pairs: Sequence[Pair], samples: Iterable[PairSample]) -> None:
        """Write the line from which the progress is read."""
        scan = self.search.scan_rounds
        what = f"{len(pairs)} pairs" if number <= scan else f"{len(pairs)} pairs again"
        broken = sum(sample.outcome != MEASURED for sample in samples)
        failed = f", {broken} measurements failed" if broken else ""
        sys.stdout.write(f"round {number} of {max(scan, number)}: {what}{failed}\n")
        sys.stdout.flush()

    def write(self, rounds: int) -> None:
        """Write all that is known."""
        torch, search = self.rank.torch, self.search
        is_nccl = self.rank.options.backend == "nccl"
        document = {
            "nodes": search.nodes,
            "rounds": rounds,
            "samples": [sample.to_list() for sample in search.samples],
            "culprits": [asdict(culprit) for culprit in search.culprits],
            "reason": search.reason,
            **{name: getattr(search, name) for name in ("groups", "unnamed", "unmeasured")},
            "torch": torch.__version__,
            "library": ".".join(map(str, torch.cuda.nccl.version())) if is_nccl else None,
        }
        write(os.path.join(self.rank.options.output, RESULT), document)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Read the arguments, which the plan has made."""
    parser = argparse.ArgumentParser()
    for name, kind in (("backend", str), ("output", str), ("rounds", int), ("bytes", int)):
        parser.add_argument(f"--{name}", type=kind, required=True)
    for name in ("tolerance", "pair_limit"):
        parser.add_argument(f"--{name}", type=float, required=True)
    return parser.parse_args(argv)


def main(argv: Sequence[str]) -> int:
    """Take part in rounds until the search has ended."""
    torch: Any = importlib.import_module("torch")
    importlib.import_module("torch.distributed")
    rank = PairRank(torch, parse(argv), os.environ)
    if rank.node == rank.rail == 0:
        Leader(rank).run()
        return 0
    number = 1
    while rank.take_part(number):
        number += 1
    return 0
