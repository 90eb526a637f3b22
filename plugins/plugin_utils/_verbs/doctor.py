# SPDX-License-Identifier: GPL-3.0-or-later
"""`doctor`: what the logs of a run, or a log that somebody has, say about why it failed. No node is contacted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.document import as_names
from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict, parse_json
from ansible_collections.muster.train.plugins.module_utils._text.order import natural
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.files import read_text, relative
from .._findings.errors import UserError, error_record
from .._request.hints import command
from .._results.aorta import SOURCE
from .._results.collected import RANK
from .._results.events import stand_in
from .._results.ranks import planned
from .._results.signatures import text
from .._results.signatures.diagnosis import FailedPlace, LogPlace, diagnose, scanner
from .._results.uncollected import size_text
from .._text.table import one_line
from .experiments import newest, read_record
from .step import Conclude, Conclusion, Play

# What a collect keeps of a node: the logs of its launcher and its runner, and of ranks that are not planned there.
LOGS = ("nodes/*/*.log", "ranks/*.log")
# What `import` has linked: the logs of nodes, or that of a point of a sweep.
IMPORTED_LOGS = ("logs/node_*.txt", "logs/run_output.log")


@frozen
class Log:
    """A log of a run, or of somebody: the node and the rank that wrote it, as far as they are known."""

    path: Path
    name: str
    node: str | None = None
    rank: int | None = None


@Conclude
def report(play: Play) -> Conclusion:
    """Read the logs once, and show what is known of their lines."""
    run_id, path = play.request.get("run_id"), play.parameters["file"]
    if path:
        if run_id:
            raise UserError(clean(f"run_id and file: expected one of them, saw {run_id} and {path}"))
        return _report(play, None, [Log(Path(path).expanduser(), path)])
    run_id = run_id or newest(play, 1)[0]
    record, home = read_record(play, run_id), Path(play.request["experiments"], run_id)
    logs = list(_logs_of(home, record))
    if not logs:
        collect = command("collect", run_id, play.request.get("call"))
        raise UserError(clean(f"no logs of {run_id} in {relative(home)}; to collect them: {collect}"))
    why = f": {one_line(record['why'])}" if record.get("why") else ""
    title = clean(f"{run_id}  {record.get('verdict') or 'unknown'}{why}")
    return _report(play, run_id, logs, [title], _failed(record), has_succeeded=record.get("verdict") == "succeeded")


def _failed(record: Mapping[str, Any]) -> FailedPlace | None:
    cause = as_dict(record.get("cause"))
    if not cause:
        return None
    traceback = cause.get("traceback")
    texts = [record.get("why"), cause.get("message"), *(traceback if isinstance(traceback, list) else [])]
    return FailedPlace(
        cause.get("node"), cause.get("rank"), [line for text in texts for line in str(text).splitlines()]
    )


def _report(
    play: Play,
    run_id: str | None,
    logs: list[Log],
    title: Sequence[str] = (),
    failed: FailedPlace | None = None,
    *,
    has_succeeded: bool = False,
) -> Conclusion:
    places: list[LogPlace] = []
    errors: list[dict[str, Any]] = []
    size = 0
    for log in logs:
        try:
            with log.path.open("rb") as stream:
                sightings = scanner().scan(stream)
                size += stream.tell()
        except OSError as error:
            why = str(error.strerror or error)
            message = (
                f"{'' if run_id else 'file: '}{log.name} could not be read: {why}; expected a file that you may read"
            )
            errors.append(error_record(clean(message), log.node, "log", why, "a file that you may read"))
            continue
        ranks = (sighting.rank if log.rank is None else log.rank for sighting in sightings)
        places += [
            LogPlace(log.node, rank, log.name, sighting) for rank, sighting in zip(ranks, sightings, strict=True)
        ]
    problems, read = [str(error["message"]) for error in errors], len(logs) - len(errors)
    if not read:
        raise UserError("; ".join(problems))
    diagnoses = diagnose(places, failed)
    nothing = f"no line of a known cause in {read} log{'s' * (read != 1)} ({size_text(size)})"
    document = {
        "run_id": run_id,
        "experiment": str(Path(play.request["experiments"], run_id)) if run_id else None,
        "file": play.parameters["file"],
        "logs": read,
        "bytes": size,
        "diagnoses": [diagnosis.to_dict() for diagnosis in diagnoses],
        "errors": errors,
    }
    shown = text.lines(diagnoses, play.width, has_succeeded=has_succeeded) if diagnoses else [nothing]
    return Conclusion(lines=[*title, *shown, *[""] * bool(problems), *problems], document=document)


def _logs_of(home: Path, record: Any) -> Iterator[Log]:
    """Return the logs of an experiment in the order of nodes and ranks."""
    parts = planned(parse_json(read_text(home / "plan.json"))) or {}
    replaced = as_names(as_dict(record).get("replaced"))
    owners = {
        rank: stand_in(node, replaced)
        for node, part in parts.items()
        if part.first_rank is not None
        for rank in range(part.first_rank, part.first_rank + part.nproc)
    }
    nodes: dict[str, str] = {}
    for pattern in IMPORTED_LOGS if SOURCE in as_dict(record) else LOGS:
        for path in sorted(home.glob(pattern), key=lambda path: natural(str(path))):
            if not path.is_file():
                continue
            name = path.relative_to(home).as_posix()
            match = RANK.match(path.name)
            rank = int(match[1]) if match else None
            number = name.split("/")[1]
            if name.startswith("nodes/") and number not in nodes:
                job = as_dict(parse_json(read_text(home / "nodes" / number / "job.json")))
                nodes[number] = str(job.get("node") or f"node {number}")
            node = nodes[number] if name.startswith("nodes/") else owners.get(rank) if rank is not None else None
            yield Log(path, name, node, rank)
