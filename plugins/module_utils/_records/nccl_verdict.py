# SPDX-License-Identifier: GPL-3.0-or-later
"""Which fabric the logs of NCCL or RCCL prove, and how that differs from what was expected.

Proof is a connection to another node, or the line of the rings that names GPUDirect RDMA (2.24 and newer) where the
ranks are on several nodes, as NCCL counts them. `Using network IB` is a choice: it can refute a fabric, and proves
none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from . import nccl_remedies as remedies
from .frozen import field, frozen
from .known import Record
from .nccl_log import RDMA, TCP, NcclError, NcclLog, RankLog
from .nccl_proof import Proof, deciding, hosts_of, proofs_of, used_nics

PASS, FAIL, UNKNOWN, MIXED = "pass", "fail", "unknown", "mixed"
MOST_NAMED = 16
FLUSHED = 5  # IBV_WC_WR_FLUSH_ERR: what was in flight when another completion failed


@frozen
class NcclExpectation(Record):
    """What the logs are compared with; None and empty: with nothing. hcas are names, ranks those of the node."""

    transport: str | None = None
    gdr: bool | None = None
    hcas: list[str] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)

    @property
    def fabric(self) -> str | None:
        """Return the transport; GPUDirect RDMA and HCAs are only used by rdma."""
        return self.transport or (RDMA if self.gdr or self.hcas else None)


@frozen
class NcclFinding(Record):
    """A difference: fail, warn, or error (could not be judged, never a pass). ranks: at most 16 of the count."""

    check: str
    status: str
    ranks: list[str]
    count: int
    observed: str
    expected: str
    remedy: str
    line: str


@frozen
class NcclVerdict(Record):
    """pass, fail or unknown, with the line of the log that shows it. transport: rdma, tcp or mixed; None: not proved.

    gdr: whether all connections to other nodes have GPUDirect RDMA; None if only some have, or none is known. edges
    and nics: how many such connections there are, and over how many of NCCL's network devices of a node.
    """

    verdict: str
    transport: str | None
    networks: list[str]
    gdr: bool | None
    edges: int
    nics: int
    line: str
    findings: list[NcclFinding]


def judge(log: NcclLog, expected: NcclExpectation, is_settled: bool = True) -> NcclVerdict:
    """Return the verdict over the logs of one node, or over those of all nodes together.

    is_settled: all connections are made, so that the NICs which they do not use count.
    """
    hosts = hosts_of(log)
    shown = [item for rank in log.ranks for item in proofs_of(rank)]
    proofs = [item for item in shown if not item.is_choice]
    transport = list(_transport(shown, expected))
    findings = [
        *transport,
        *_connections(log, hosts.values(), shown, expected, transport),
        # A sender may be without GPUDirect RDMA where receives, which may come later, have it.
        *_gdr([item for item in proofs if is_settled or item.receives or not item.rank.outside], expected),
        *(_nics(log, hosts.values(), expected, transport) if is_settled else ()),
        *_link_layers(log),
        *_errors(log),
    ]
    if not log.complete:
        findings.append(_finding("nccl log", "warn", (), "a part of the logs was not read", "all", remedies.PARTIAL))
    if log.unread:
        observed = f"paths that could not be read: {log.unread}"
        findings.append(_finding("nccl log", "error", (), observed, "all", remedies.UNREAD))
    statuses = {finding.status for finding in findings}
    fabrics = {item.fabric for item in proofs if item.fabric}
    verdict = FAIL if "fail" in statuses else UNKNOWN if "error" in statuses or not proofs else PASS
    decisive = [finding.line for finding in findings if finding.status == {FAIL: "fail", UNKNOWN: "error"}.get(verdict)]
    if verdict == PASS:
        findings.extend(_warnings(log))
    gdrs = {item.gdr for item in deciding(proofs)}
    return NcclVerdict(
        verdict=verdict,
        transport=MIXED if len(fabrics) > 1 else next(iter(fabrics), None),
        networks=sorted({item.network for item in proofs}),
        gdr=next(iter(gdrs)) if len(gdrs) == 1 else None,
        edges=sum(edges.count for rank in log.ranks for edges in rank.outside),
        nics=max((len(used_nics(ranks)) for ranks in hosts.values()), default=0),
        line=next(filter(None, [*decisive, *(item.line for item in proofs)]), ""),
        findings=findings,
    )


def _finding(
    check: str, status: str, ranks: Iterable[RankLog], observed: str, expected: str, remedy: str, line: str | None = ""
) -> NcclFinding:
    names = list(dict.fromkeys(rank.name for rank in ranks))
    return NcclFinding(check, status, names[:MOST_NAMED], len(names), observed, expected, remedy, line or "")


def _transport(shown: Sequence[Proof], expected: NcclExpectation) -> Iterator[NcclFinding]:
    """Compare the fabric of each rank with the expected one, else with that of most ranks."""
    known = [item for item in shown if item.fabric]
    wanted = expected.fabric
    if wanted is None:
        ranks_of = {fabric: [item for item in known if item.fabric == fabric] for fabric in {i.fabric for i in known}}
        # Of two that are on as many ranks, RDMA is what was meant.
        wanted = max(ranks_of, key=lambda fabric: (len(ranks_of[fabric]), fabric != TCP), default=None)
    others: dict[str, list[Proof]] = {}
    for item in known:
        if item.fabric != wanted:
            others.setdefault(item.network, []).append(item)
    for network, items in sorted(others.items()):
        without = any(item.rank.opened is False for item in items)
        observed = f"{items[0].fabric} by NCCL's network {network}{', as no HCA could be opened' * without}"
        remedy = remedies.FALLBACK if items[0].fabric == TCP else remedies.NOT_TCP
        ranks = [item.rank for item in items]
        yield _finding("nccl transport", "fail", ranks, observed, str(wanted), remedy, items[0].line)


def _connections(
    log: NcclLog,
    hosts: Iterable[Collection[RankLog]],
    shown: Sequence[Proof],
    expected: NcclExpectation,
    refuted: Sequence[NcclFinding],
) -> Iterator[NcclFinding]:
    """Find what is not proved: ranks without a log or a connection, a node without one to another node."""
    if not log.ranks and not log.unread:
        yield _finding("nccl log", "error", (), "no line of NCCL or RCCL", "a log of each rank", remedies.NO_LOG)
    if not log.ranks:
        return
    missing = sorted(set(expected.ranks) - {rank.rank for rank in log.ranks if rank.rank is not None})
    if missing:
        names = ", ".join(map(str, missing[:MOST_NAMED])) + ", …" * (len(missing) > MOST_NAMED)
        yield _finding("nccl ranks", "error", (), f"no log of the ranks {names}", "all ranks", remedies.NO_LOG)
    if refuted:
        return  # of a rank that has another fabric it does not matter whether it is connected
    alone = [rank for rank in log.ranks if not (rank.net or rank.local or rank.rings)]
    if alone:
        chosen = sorted({rank.network for rank in alone if rank.network})
        observed = f"the choice of {', '.join(chosen)}, but no connection" if chosen else "no connection"
        lines = [rank.choice_line for rank in alone if rank.choice_line]
        yield _finding("nccl edges", "error", alone, observed, "connections", remedies.NO_EDGE, (lines or [""])[0])
    proved = {item.rank.host for item in shown if not item.is_choice}
    inside = [rank for ranks in hosts if not {rank.host for rank in ranks} & proved for rank in ranks]
    if inside and not alone:
        observed = "no connection to another node"
        line = next((rank.choice_line for rank in inside if rank.choice_line), "")
        yield _finding("nccl edges", "error", inside, observed, "connections of several nodes", remedies.NO_EDGE, line)
    hidden = [item for item in shown if item.fabric is None and not item.is_choice]
    if hidden:
        observed = f"{hidden[0].network}, whose plugin does not show its fabric"
        ranks = [item.rank for item in hidden]
        wanted = expected.fabric or "rdma or tcp"
        yield _finding("nccl transport", "error", ranks, observed, wanted, remedies.PLUGIN, hidden[0].line)


def _gdr(proofs: Sequence[Proof], expected: NcclExpectation) -> Iterator[NcclFinding]:
    """Find connections over RDMA without GPUDirect: a failure where it is expected, a warning where others have it."""
    counts = expected.gdr and expected.transport == TCP  # as with TCPX
    known = deciding(proofs)
    if expected.gdr and proofs and not known:
        observed = "sends alone, which NCCL_NET_GDR_READ=0 keeps off GPUDirect RDMA"
        ranks = [item.rank for item in proofs]
        yield _finding("nccl gdr", "error", ranks, observed, "a receive", remedies.NO_EDGE, proofs[0].line)
    without = [item for item in known if item.gdr is False and (item.fabric != TCP or counts)]
    some_have = any(item.gdr for item in known)
    if without and expected.gdr is not False and (expected.gdr or some_have):
        reasons = sorted({item.rank.gdr_refused for item in without if item.rank.gdr_refused})
        observed = f"no GPUDirect RDMA{f' ({reasons[0]})' if reasons else ''}"
        ranks, status = [item.rank for item in without], "fail" if expected.gdr else "warn"
        yield _finding("nccl gdr", status, ranks, observed, "GPUDirect RDMA", remedies.NO_GDR, without[0].line)


def _nics(
    log: NcclLog, hosts: Collection[Collection[RankLog]], expected: NcclExpectation, refuted: Sequence[NcclFinding]
) -> Iterator[NcclFinding]:
    """Compare the HCAs that ranks opened, and the number that a node's ranks use, with the expected ones."""
    wanted = {name.partition(":")[0] for name in expected.hcas}
    missing: dict[tuple[str, ...], list[RankLog]] = {}
    for rank in log.ranks:
        lacking = tuple(sorted(wanted - {hca.name for hca in rank.hcas})) if rank.hcas else ()
        if lacking:
            missing.setdefault(lacking, []).append(rank)
    for names, lacking_ranks in missing.items():
        observed = f"{len(wanted) - len(names)} of {len(wanted)} HCAs, without {', '.join(names)}"
        line = lacking_ranks[0].choice_line
        yield _finding("nccl nics", "fail", lacking_ranks, observed, f"{len(wanted)} HCAs", remedies.NICS, line)
    if missing:
        return
    hidden = [] if refuted else [ranks for ranks in hosts if not used_nics(ranks) and not any(r.hcas for r in ranks)]
    if wanted and hidden:
        unnamed = [rank for ranks in hidden for rank in ranks]
        yield _finding("nccl nics", "error", unnamed, "no line names an HCA", f"{len(wanted)} HCAs", remedies.NO_LOG)
    for on_host in hosts:
        ranks = [rank for rank in on_host if rank.outside]
        used = used_nics(ranks)
        channels = {channel for rank in ranks for edges in rank.outside for channel in edges.channels}
        # Each channel leaves the node by one NIC, and each rank by that which is nearest to it.
        least = min(len(wanted), len(ranks), len(channels))
        if used and len(used) < least and not any(rank.merged_nics for rank in ranks):
            observed = f"{len(used)} of {len(wanted)} HCAs used"
            line = ranks[0].outside[0].line
            yield _finding("nccl nics", "fail", ranks, observed, f"{least} HCAs", remedies.NICS, line)


def _link_layers(log: NcclLog) -> Iterator[NcclFinding]:
    """Find ranks that opened ports of InfiniBand and of Ethernet."""
    mixed = [rank for rank in log.ranks if len({hca.link for hca in rank.hcas}) > 1]
    if mixed:
        kinds: dict[str | None, list[str]] = {}
        for hca in mixed[0].hcas:
            kinds.setdefault(hca.link, []).append(hca.name)
        observed = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds.items())
        line = mixed[0].choice_line
        yield _finding("nccl link layers", "fail", mixed, observed, "one link layer", remedies.LINK_LAYERS, line)


def _errors(log: NcclLog) -> Iterator[NcclFinding]:
    """Report failed completions, calls and devices, with NCCL's own numbers; what follows from others as warnings."""
    groups: dict[tuple[str | None, str | None, int | None], list[tuple[RankLog, NcclError]]] = {}
    for rank in log.ranks:
        for error in rank.errors:
            if error.kind != "warning":
                number = error.errno if error.kind == "call" else error.status
                groups.setdefault((error.event, error.call, number), []).append((rank, error))
    for (event, call, number), items in groups.items():
        first = items[0][1]
        fails = call.startswith("ibv_") if call else number != FLUSHED
        what, name = (f"{call} failed", "errno") if call else ("a completion failed", "status")
        parts = {"vendor error": first.vendor_err, "device": first.device, "peer": first.peer, "GID": first.gid_index}
        what = event or (what if number is None else f"{what} with {name} {number}")
        observed = ", ".join([what, *(f"{name} {part}" for name, part in parts.items() if part is not None)])
        ranks, status = [rank for rank, _error in items], "fail" if fails else "warn"
        yield _finding("nccl errors", status, ranks, observed, "no error", remedies.of_error(first), first.line)


def _warnings(log: NcclLog) -> Iterator[NcclFinding]:
    """Report the other warnings together, with the first of them."""
    others = [(rank, error) for rank in log.ranks for error in rank.errors if error.kind == "warning"]
    if others:
        observed = f"warnings of NCCL: {sum(error.count for _rank, error in others)}"
        ranks, line = [rank for rank, _error in others], others[0][1].line
        yield _finding("nccl errors", "warn", ranks, observed, "none", remedies.WARNING, line)
