# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the next command needs of this one: its options for connection, become and vault, and its policy (-e)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .encrypted import refuse_encrypted
from .secret_options import SECRET_OPTION
from .verbs import VERBS

# Of ansible-playbook: the first name is printed.
WITH_VALUE: tuple[tuple[str, ...], ...] = (
    ("-u", "--user"),
    ("-c", "--connection"),
    ("-T", "--timeout"),
    ("--private-key", "--key-file"),
    ("--ssh-common-args",),
    ("--ssh-extra-args",),
    ("--scp-extra-args",),
    ("--sftp-extra-args",),
    ("--connection-password-file", "--conn-pass-file"),
    ("--become-method",),
    ("--become-user",),
    ("--become-password-file", "--become-pass-file"),
    ("--vault-id",),
    ("--vault-password-file", "--vault-pass-file"),
)
FLAGS: tuple[tuple[str, ...], ...] = (
    ("-b", "--become"),
    ("-k", "--ask-pass"),
    ("-K", "--ask-become-pass"),
    ("-J", "--ask-vault-password", "--ask-vault-pass"),
)
PARAMETERS = frozenset(parameter.name for parameters in VERBS.values() for parameter in parameters)
# The beginnings of the names of variables that reach the nodes and find the run there.
POLICY = ("launch_", "ansible_", "container_")


def carried_options(argv: Sequence[str], *, inventories: bool = True) -> list[str]:
    """Return the options of a command without which the next one reaches other nodes, or none; -i if asked for."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("-i", "--inventory", "--inventory-file", action="append", default=[], dest="-i")
    parser.add_argument("-e", "--extra-vars", action="append")
    parser.add_argument("-v", "--verbose", action="count")
    for names in WITH_VALUE:
        parser.add_argument(*names, action="append", default=[], dest=names[0])
    for names in FLAGS:
        parser.add_argument(*names, action="store_true", dest=names[0])
    try:
        known = vars(parser.parse_known_args(list(argv))[0])
    except argparse.ArgumentError:
        return []
    words = [word for inventory in known["-i"] for word in ("-i", inventory)] if inventories else []
    for name, *_others in WITH_VALUE:
        for value in known[name]:
            words += [f"{name}={value}"] if name.startswith("--") else [name, value]
    return words + [name for name, *_others in FLAGS if known[name]]


def carried_variables(options: Iterable[tuple[str, Mapping[str, object]]]) -> list[str]:
    """Return the texts for -e, from each one that was given and its variables: without parameters, without secrets.

    What is in a file is never printed: it may be encrypted as a whole, and its variables do not show that.
    """
    texts = []
    for text, variables in options:
        if text.startswith("@"):
            # With a parameter in it, the next verb may refuse it.
            texts += [text] if variables and not variables.keys() & PARAMETERS else []
            continue
        policy = {name: value for name, value in variables.items() if _is_policy(name, value)}
        if policy:
            unchanged = len(policy) == len(variables) and not SECRET_OPTION.search(text)
            texts.append(text if unchanged else _json(policy))
    return texts


def _is_policy(name: object, value: object) -> bool:
    if name in PARAMETERS or not str(name).startswith(POLICY):
        return False
    return not SECRET_OPTION.search(_json({name: value})) and not refuse_encrypted([(str(name), value)])


def _json(variables: Mapping[Any, object]) -> str:
    return json.dumps(variables, default=str, skipkeys=True)  # YAML has dates
