# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of the module `run`, with the runner as one file among them."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

from ansible.utils.vars import transform_to_native_types

from .bundle import runner_zipapp

# Built where Ansible imports this file, in its main process: each worker would build it again.
RUNNER = base64.b64encode(zlib.compress(runner_zipapp(), 9)).decode()


def start_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with the runner; secrets become a text, which no result shows."""
    secrets = options.get("secrets")
    text = json.dumps(transform_to_native_types(secrets, redact=False)) if secrets else None
    return {**options, "runner": RUNNER, **({"secrets": text} if text else {})}
