# SPDX-License-Identifier: GPL-3.0-or-later
"""What an experiment keeps of the job that a run was submitted as: `job.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict, parse_json
from ansible_collections.muster.train.plugins.module_utils._text.stamps import utc

from .job import SlurmJob

FILE = "job.json"
SCHEMA = 1


@frozen
class Submission:
    """A job that was submitted at this time (UTC); state is that of its end, once that was seen.

    earlier is the nonce of the launch that the run's record was of at that time: as long as it is of that one, the
    launch in the job has not begun.
    """

    job: str
    submitted: str
    state: str | None = None
    earlier: str | None = None

    def is_launched(self, record: Mapping[str, Any]) -> bool:
        """Return whether a plan or a record of the run is of the launch in the job."""
        return record.get("nonce") not in (None, self.earlier)

    def text(self) -> str:
        """Return the file."""
        return json.dumps({"schema": SCHEMA, **vars(self)}, indent=2) + "\n"


def parse_submission(text: str | None) -> Submission | None:
    """Return the submission of an experiment, None where it is not one."""
    document = as_dict(parse_json(text))
    number, submitted, *rest = (document.get(name) for name in ("job", "submitted", "state", "earlier"))
    if not (isinstance(number, str) and re.fullmatch(r"[0-9]{1,10}", number)):
        return None
    return Submission(number, str(submitted), *(text if isinstance(text, str) else None for text in rest))


def job_data(submission: Submission, job: SlurmJob | None, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the job, and what the record of its run says, for a program.

    What is not known is null, as most of a job that Slurm has forgotten.
    """
    return {
        "id": submission.job,
        "submitted": submission.submitted,
        "state": job.state if job else submission.state,
        "reason": job.reason if job and job.waits else None,
        "nodes": (job.nodes or None) if job else None,
        "start": utc(job.start) if job and job.start is not None else None,
        "end": utc(job.end) if job and job.end is not None and job.has_nodes else None,
        "verdict": record.get("verdict"),
        "why": record.get("why"),
    }
