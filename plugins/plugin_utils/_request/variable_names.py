# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment variables that a user may set in plain text."""

from __future__ import annotations

import re

from .._findings.errors import display

ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")
# Set by Muster, set by torchrun's agent (local_elastic_agent.py: _start_workers), read by torchrun (argparse_util.py).
OWNED = re.compile(
    r"(MUSTER|PET|TORCHELASTIC)_.*|RANK|(LOCAL|GROUP|ROLE)_RANK|((LOCAL|GROUP|ROLE)_)?WORLD_SIZE|ROLE_NAME"
    r"|NODE_RANK|NNODES|NPROC_PER_NODE|MASTER_(ADDR|PORT)|TORCH_ELASTIC_SHUTDOWN_TIMEOUT"
)
SECRET = re.compile(
    r"(.*_)?(TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS|(API|ACCESS|PRIVATE|SECRET)_?KEY)", re.IGNORECASE
)
# What to use instead of variables that only the launch sets.
INSTEAD = {
    "NPROC_PER_NODE": "use -e nproc=N",
    "NNODES": "use -e nnodes=N",
    "MASTER_PORT": "use -e master_port=PORT",
    "MASTER_ADDR": "use launch_head_address",
}


def owned(name: str) -> bool:
    """Return whether only Muster sets this environment variable."""
    return OWNED.fullmatch(name) is not None


def problem(name: object) -> str | None:
    """Return why a variable of this name can't be set in plain text, None if it can."""
    if not isinstance(name, str) or not ENVIRONMENT_NAME.fullmatch(name):
        return f"{display(name)} is not a valid environment variable name (letters, digits and '_')"
    if owned(name):
        return f"{name} is set by Muster; {INSTEAD.get(name, 'leave it out')}"
    if SECRET.fullmatch(name):
        return f"{name} looks like a secret and would be saved as plain text; set it in launch_secrets"
    return None
