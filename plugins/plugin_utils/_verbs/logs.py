# SPDX-License-Identifier: GPL-3.0-or-later
"""`logs`: the last lines of a run's ranks from all nodes, merged by time, or each line as it is written.

After the steps of `find`, in which each node has read its last lines, `report` shows them. With follow=true it names
the nodes of which `follow` then reads the new lines, all at once, until the run has ended there. The first one prints
what all of them have read.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import parse_json
from ansible_collections.muster.train.plugins.module_utils._records.phases import ENDED
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.interrupt import Interrupt
from .._action.screen import print_after_interrupt, print_line, show
from .._findings.errors import UserError
from .._request.hints import command
from .._results import documents, unanswered
from .._results.grep import Grep
from .._results.log_stream import GrowingLogs, LogLine, Merger, Page, most_bytes, names_of
from .._results.report import log_lines, no_such_rank
from .._results.verdict import may_have
from .._text.plain import plain
from .._text.table import one_line
from .find import chosen, infos_of, shared_answer
from .overview import Overview
from .reading import RunReader
from .step import Conclude, Conclusion, Play, Unreachable, Visit

POLL_S = 0.7
LOOK_S = 0.05
# When all others have ended, a node that does not answer is waited for so long.
GIVE_UP_AFTER_S = 20.0
# Lines that are printed at once: each print is a message to the controller's main process.
LINES_AT_ONCE = 500


@Conclude
def report(play: Play) -> Conclusion:
    """Show the lines, or choose the nodes that are followed."""
    overview = Overview.of(play, chosen(play)["run_id"], infos_of(play))
    if wrong := no_such_rank(overview.runs, play.request["parameters"].get("rank")):
        raise UserError(clean(wrong))
    missing, asked = unanswered.lines(overview.infos), play.parameters
    if asked["follow"]:
        followed = _followed(play, overview)
        return Conclusion(lines=missing, result={"followed": followed}, failure=_refusal(play, followed))
    limit, node, rank, pattern = (asked[name] for name in ("lines", "node", "rank", "grep"))
    of = "".join(f" of {name} {asked[name]}" for name in ("node", "rank", "grep") if asked[name] is not None)
    return Conclusion(
        lines=[*(log_lines(overview.infos, limit, node, rank, pattern) or [clean(f"no log lines{of}")]), *missing],
        document=documents.of_logs(overview.run_id, overview.infos, limit, node, rank),
    )


@Visit
def follow(play: Play, node: str) -> dict[str, Any] | None:
    """Read the lines of a node until the run has ended there or the user interrupts; the first node prints all."""
    followed: dict[str, str] = plain(shared_answer(play, "launch__report").get("followed") or {})
    if play.is_checked or node not in followed:
        return None
    run_id, nodes, interrupt = str(chosen(play)["run_id"]), list(followed), play.interrupt or Interrupt()
    reader = RunReader(play, node, run_id, followed[node])
    if node != nodes[0]:
        _read(play, node, len(nodes), reader, interrupt)
        return {}
    play.channel.open()
    with interrupt.awaited():
        printer = threading.Thread(target=_print, args=(play, run_id, nodes, interrupt), daemon=True)
        printer.start()
        try:
            _read(play, node, len(nodes), reader, interrupt)
        finally:
            printer.join()
    return {}


def _followed(play: Play, overview: Overview) -> dict[str, str | None]:
    """Return the nodes whose logs are followed, with the run's directory there."""
    node, rank = play.parameters["node"], play.parameters["rank"]
    return {
        info.node: info.run.run_dir
        for info in overview.infos
        if info.answered
        and info.run.run_dir
        and node in (None, info.node)
        and (rank is None or may_have(info.run, rank))
    }


def _refusal(play: Play, followed: Mapping[str, object]) -> UserError | None:
    """Return why the nodes cannot be followed; each needs a fork of Ansible."""
    count = len(followed)
    if not count:
        return UserError("no node that answers has the logs that were asked for: `status` shows the nodes")
    if count <= play.forks:
        return None
    return UserError(
        f"follow: expected at most {play.forks} nodes, as many as Ansible has forks, saw {count}; give -f {count}, or "
        "choose with -e rank=N or -e node=NAME"
    )


# The reader of a node


@frozen
class LogNews:
    """What a node's reader has for the printer: new lines, a note about the node, and how the run has ended there."""

    node: str
    lines: Sequence[LogLine] = ()
    note: str | None = None
    end: str | None = None


def _read(play: Play, node: str, count: int, reader: RunReader, interrupt: Interrupt) -> None:
    """Send the new lines of one of so many nodes until the run has ended there, and then how."""
    end = "unknown"
    try:
        end = _read_until_end(play, node, count, reader, interrupt)
    finally:
        play.channel.send(LogNews(node, end=end))


def _read_until_end(play: Play, node: str, count: int, reader: RunReader, interrupt: Interrupt) -> str:
    asked, is_away = play.parameters, False
    logs, names = GrowingLogs(node, Grep(asked["grep"])), names_of(asked["rank"])
    while not (interrupt.pressed or play.channel.is_closed):
        until = play.clock() + POLL_S
        try:
            news = reader.read(names, most_bytes(count, len(logs.positions)), logs.positions)
        except Unreachable as error:
            if not is_away:
                silence = f"{node} does not answer: {one_line(error)}; its lines follow when it does"
                play.channel.send(LogNews(node, note=silence))
            is_away = True
        else:
            note, is_away = f"{node} answers again" if is_away else None, False
            if news is not None:
                play.channel.send(LogNews(node, logs.take(news.parts), note))
                run = RunRecord.from_dict(parse_json(news.documents[0]))
                if run.phase in ENDED:
                    return str((run.end.verdict if run.end else None) or run.phase)
            known = reader.ask_if_silent(news and tuple(news.documents))
            if isinstance(known, RunRecord) and not known.alive:
                return str(known.phase)
        while play.clock() < until and not (interrupt.pressed or play.channel.is_closed):
            play.pause(LOOK_S)
    return "interrupted"


# The printer


def _print(play: Play, run_id: str, nodes: Sequence[str], interrupt: Interrupt) -> None:
    """Print what all nodes send until the run has ended on each, and how to go on."""
    try:
        ends = _print_until_end(play, nodes, interrupt)
    finally:
        play.channel.close()
    call = play.request.get("call")
    if interrupt.pressed:
        print_after_interrupt("stopped following; the run goes on")
        show([f"follow them again: {command('logs', run_id, call)} -e follow=true"])
    else:
        show([f"{run_id} {next(iter(ends.values()), 'unknown')}: {command('status', run_id, call)}"])


def _print_until_end(play: Play, nodes: Sequence[str], interrupt: Interrupt) -> dict[str, str]:
    """Print the lines by their times; return how the run has ended on each node."""
    merger, page = Merger(nodes, play.parameters["lines"], play.clock), Page()
    ends: dict[str, str] = {}
    heard = play.clock()
    while len(ends) < len(nodes) and not interrupt.pressed:
        news = play.channel.receive()
        if news is None:
            if ends and play.clock() - heard > GIVE_UP_AFTER_S:
                missing = ", ".join(node for node in nodes if node not in ends)
                show([f"{missing}: no answer since the run has ended on the other nodes"])
                break
            play.pause(LOOK_S)
        else:
            heard = play.clock()
            if news.note:
                show([news.note])
            if news.end:
                ends[news.node] = news.end
            if news.end or (news.note and not news.lines):
                merger.forget(news.node)
            else:
                merger.add(news.node, news.lines)
        _print_at_once(page.text(merger.due()))
    if not interrupt.pressed:
        _print_at_once(page.text(merger.due(at_end=True)))
    return ends


def _print_at_once(lines: Sequence[str]) -> None:
    for at in range(0, len(lines), LINES_AT_ONCE):
        print_line("\n".join(lines[at : at + LINES_AT_ONCE]))
