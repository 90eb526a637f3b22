# SPDX-License-Identifier: GPL-3.0-or-later
"""Send how a run ended to a web address. The verdict is written by then and waits for nothing here."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

from .._records.job import Job
from .._records.notice import address_of
from .._records.run import End, RunRecord

TRIES, TIMEOUT_S = 3, 3.0
# Seconds after which the runner ends although the notice has not been sent.
PATIENCE_S = 10.0


def send_end(job: Job, state: object, secrets: Mapping[str, str]) -> None:
    """Send the end of a run that is in the head's last state; a notice is in the head's job only."""
    address = address_of(job.notice, secrets) if job.notice else None
    if address is None:
        return
    run = RunRecord.from_dict(state)
    # A runner that failed itself wrote no end of the whole run.
    end = run.end or End(run.phase, run.why, job.node)
    arguments = address, content_of(job, end)
    # In a thread: nothing limits how long a name is looked for.
    thread = threading.Thread(target=_send, args=arguments, name="notice", daemon=True)
    thread.start()
    thread.join(PATIENCE_S)


def content_of(job: Job, end: End) -> dict[str, Any]:
    """Return the notice: what is known of the run and its end, and a line for people, which chat services show."""
    return {
        "text": f"{job.run_id} {end.verdict or 'ended'}{f': {end.why}' if end.why else ''}",
        "schema": 1,
        "event": "end",
        "run_id": job.run_id,
        "label": job.label,
        **{name: getattr(end, name) for name in ("verdict", "why", "node", "rank")},
        "nnodes": job.nnodes,
        "world_size": job.world_size,
        "created": job.created,
    }


def _send(address: str, content: Mapping[str, Any]) -> None:
    # Few runs send a notice, and importing this takes a tenth of a start.
    import urllib.request

    data, headers = json.dumps(content).encode(), {"Content-Type": "application/json", "User-Agent": "muster"}
    request = urllib.request.Request(address, data, headers)
    for attempt in range(TRIES):
        time.sleep(attempt)
        try:
            with urllib.request.build_opener().open(request, timeout=TIMEOUT_S):
                return
        except Exception as error:  # also those of http.client, which are of no common kind
            # Neither the address nor what a server says, either of which may hold a secret.
            reason = getattr(error, "code", None) or getattr(error, "reason", None) or type(error).__name__
            sys.stderr.write(f"muster: the notice of the end was not sent (try {attempt + 1} of {TRIES}): {reason}\n")
            sys.stderr.flush()
