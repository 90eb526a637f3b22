# SPDX-License-Identifier: GPL-3.0-or-later
"""Which values Ansible Vault encrypts, where they would be saved as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ansible.parsing.vault import VaultHelper


def refuse_encrypted(variables: Iterable[tuple[str, object]]) -> list[str]:
    """Return a line for each value (name, value) in which there is an encrypted one; none shows a value."""
    names = dict.fromkeys(path for name, value in variables for path in _encrypted_in(name, value))
    return [
        f"{name}: is encrypted by Ansible Vault, but would be saved as plain text in plans and experiments; "
        "set secrets in launch_secrets"
        for name in names
    ]


def _encrypted_in(name: str, value: object) -> Iterator[str]:
    """Yield ``launch_env.HF_TOKEN`` for each encrypted value; the items of a list have the list's name."""
    if VaultHelper.get_ciphertext(value, with_tags=False) is not None:
        yield name
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _encrypted_in(f"{name}.{key}", item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _encrypted_in(name, item)
