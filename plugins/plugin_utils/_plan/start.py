# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of the module `run`, with the runner as one file among them."""

from __future__ import annotations

import base64
import functools
import json
import zlib
from collections.abc import Mapping
from typing import Any

from ansible.utils.vars import transform_to_native_types

from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict

from .bundle import PROGRAMS, runner_zipapp


@functools.cache
def _runner(program: str | None = None) -> str:
    return base64.b64encode(zlib.compress(runner_zipapp(program), 9)).decode()


# Built where Ansible imports this file, in its main process: each worker would build it again.
_runner()


def start_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with the runner; secrets become a text, which no result shows."""
    secrets, job = options.get("secrets"), as_dict(options.get("job"))
    text = json.dumps(transform_to_native_types(secrets, redact=False)) if secrets else None
    program = next((name for name in PROGRAMS if f"{job.get('run_dir')}/{name}" in (job.get("argv") or ())), None)
    return {**options, "runner": _runner(program), **({"secrets": text} if text else {})}
