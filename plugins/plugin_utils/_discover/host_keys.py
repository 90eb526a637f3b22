# SPDX-License-Identifier: GPL-3.0-or-later
"""Host keys as ssh-keyscan prints them, and the lines of known_hosts."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import shlex
from collections.abc import Iterable, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .._request.host_list import SSH_PORT

# The short name of a type, as `ssh` and `ssh-keygen -l` print it.
SHORT_NAME = re.compile(r"(?:sk-)?(?:ssh-|ecdsa-sha2-)([a-z0-9]+)")
# The settings of `ssh -G` that are used here.
SETTINGS = ("hostname", "port", "user", "proxyjump", "proxycommand", "hostkeyalias")


@frozen
class HostKey:
    """A public host key: `where` is the name that ssh looks it up by, blob its base64."""

    where: str
    type: str
    blob: str

    @property
    def fingerprint(self) -> str:
        """The fingerprint, as `ssh-keygen -l` and the prompt of `ssh` show it."""
        digest = hashlib.sha256(base64.b64decode(self.blob)).digest()
        return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")

    @property
    def short_type(self) -> str:
        """The short name of its type: ED25519, ECDSA, RSA."""
        match = SHORT_NAME.match(self.type)
        return (match[1] if match else self.type).upper().replace("NISTP256", "ECDSA").replace("NISTP384", "ECDSA")

    @property
    def line(self) -> str:
        """Its line in known_hosts."""
        return f"{self.where} {self.type} {self.blob}"


def where(host: str, port: int | None) -> str:
    """Return the name that ssh looks a host's keys up by (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT)."""
    return host.lower() if port in (None, SSH_PORT) else f"[{host.lower()}]:{port}"


def parse_keys(text: str) -> list[HostKey]:
    """Return the plain keys of a known_hosts file or of ssh-keyscan's output, in order and without duplicates.

    A line with several names is several keys; marked (@cert-authority, @revoked) and hashed lines are left out.
    """
    keys: dict[HostKey, None] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) < 3 or line.startswith(("#", "@", "|")) or not _is_key(words[2]):
            continue
        for name in words[0].split(","):
            keys[HostKey(name, words[1], words[2])] = None
    return list(keys)


def _is_key(blob: str) -> bool:
    try:
        return bool(base64.b64decode(blob, validate=True))
    except (binascii.Error, ValueError):
        return False


def keys_of(where: str, keys: Iterable[HostKey]) -> list[HostKey]:
    """Return the keys that ssh looks up by this name, in one order."""
    return sorted((key for key in keys if key.where.lower() == where), key=lambda key: (key.type, key.blob))


def changed(known: Iterable[HostKey], offered: Sequence[HostKey]) -> list[HostKey]:
    """Return the known keys that their host no longer offers, although it offers another one of that type."""
    types = {(key.where, key.type) for key in offered}
    return [key for key in known if (key.where, key.type) in types and key not in offered]


def known_hosts(keys: Iterable[HostKey]) -> str:
    """Return the text of a known_hosts file."""
    return "".join(f"{key.line}\n" for key in keys)


def ssh_args(file: str) -> str:
    """Return the options with which ssh accepts only the keys of a known_hosts file."""
    # Quoted for ssh too, because the option takes several names.
    known = shlex.quote(f'UserKnownHostsFile="{file}"')
    return f"-o {known} -o GlobalKnownHostsFile=/dev/null -o StrictHostKeyChecking=yes"


def fingerprints(names: Iterable[tuple[str, Sequence[HostKey]]]) -> list[tuple[str, str, str]]:
    """Return a row (node, type, fingerprint) for each key; only a node's first row has its name."""
    return [
        (name if index == 0 else "", key.short_type, key.fingerprint)
        for name, keys in names
        for index, key in enumerate(keys)
    ]


def parse_settings(text: str) -> dict[str, str]:
    """Return the settings that `ssh -G HOST` prints: how ssh would reach the host."""
    pairs = (line.partition(" ") for line in text.splitlines())
    return {name: value.strip() for name, _blank, value in pairs if name in SETTINGS and value.strip() != "none"}
