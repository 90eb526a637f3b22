# SPDX-License-Identifier: GPL-3.0-or-later
"""Questions that Ansible would ask: the commands that a verb lets launch have no terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._findings.errors import UserError

# Options with which Ansible asks for a password.
ASKING = {"ask_pass": "-k", "become_ask_pass": "-K", "ask_vault_pass": "-J"}


def refuse_questions(options: Mapping[str, Any], asker: str) -> None:
    """Refuse options with which Ansible would ask for a password at a launch that has no terminal."""
    asking = [name for option, name in ASKING.items() if options.get(option)]
    asking += ["--vault-id" for vault in options.get("vault_ids") or () if str(vault).endswith("prompt")]
    if asking:
        raise UserError(
            f"{asking[0]}: the launches of {asker} cannot ask for a password; give it in a file: "
            "--connection-password-file, --become-password-file or --vault-password-file"
        )
