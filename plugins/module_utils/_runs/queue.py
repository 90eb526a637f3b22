# SPDX-License-Identifier: GPL-3.0-or-later
"""A launch in the queue for a slot of this node: its ticket, and which launches are ahead of it."""

from __future__ import annotations

from typing import Any

from .._host.host import Host
from .._records import layout
from .._records.frozen import field, frozen
from .._system.workdir import read_holder
from ..runner import tickets
from .directories import make_directories

# How long a ticket holds that is not renewed: the launch asks all nodes more often, and starts within this time.
TICKET_S = 300.0


@frozen
class Turn:
    """What keeps a launch from a slot: the run that holds it, and the launches that wait for it and are ahead."""

    holder: dict[str, Any] | None = None
    ahead: list[dict[str, Any]] = field(default_factory=list)

    @property
    def admitted(self) -> bool:
        """Whether the launch may start."""
        return self.holder is None and not self.ahead


def take_turn(host: Host, workdir: str, node: str, slot: str, launch: dict[str, Any]) -> Turn:
    """Renew the ticket of a launch (run_id, nonce, created); return what keeps it from the slot.

    Ahead of it are older launches, and younger ones that are about to start. Raises StartError and OSError.
    """
    queue = tickets.queue_path(workdir, node, slot)
    make_directories(workdir, node, [layout.slots_dir(workdir, node), queue])
    with tickets.open_queue(queue) as place:
        tickets.remove_expired(place)
        others = [other for other in tickets.list_tickets(place) if other["nonce"] != launch["nonce"]]
        # After the tickets: a runner takes the slot before it gives its ticket up.
        holder = read_holder(host, workdir, node, slot)
        order = tickets.age_order(launch)
        ahead = [other for other in others if tickets.age_order(other) < order or other.get(tickets.ADMITTED)]
        turn = Turn(None if holder is None else holder.to_dict(), [tickets.holder_of(other) for other in ahead])
        ticket = {**launch, "node": node, "user": host.user_name()}
        tickets.renew(place, ticket, TICKET_S, turn.admitted)
    return turn
