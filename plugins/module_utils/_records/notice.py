# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the head sends how a run ended: a web address, or the name of the secret that holds it."""

from __future__ import annotations

import re
from collections.abc import Mapping

# Without a user name and a password: the address is recorded with the run.
ADDRESS = re.compile(r"https?://[^\s/@?#]+([/?#]\S*)?", re.ASCII)
SECRET = re.compile(r"secret:([A-Za-z_][A-Za-z0-9_]{0,254})", re.ASCII)


def is_sent(text: str) -> bool:
    """Return whether the head sends a notice, so that no command runs on the controller."""
    return bool(ADDRESS.fullmatch(text) or SECRET.fullmatch(text))


def address_of(text: str, secrets: Mapping[str, str]) -> str | None:
    """Return the web address; None where the secret is missing or holds none."""
    secret = SECRET.fullmatch(text)
    address = secrets.get(secret[1], "") if secret else text
    return address if ADDRESS.fullmatch(address) else None
