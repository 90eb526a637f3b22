# SPDX-License-Identifier: GPL-3.0-or-later
"""What the next command needs of this one: its options for connection, become and vault, and its policy (-e)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible.cli.playbook import PlaybookCLI

from .encrypted import refuse_encrypted
from .secret_options import SECRET_OPTION
from .verbs import VERBS, parameter_names

# Of ansible-playbook: the destination of an option, and its name as it is printed.
WITH_VALUE = {
    "remote_user": "-u",
    "connection": "-c",
    "timeout": "-T",
    "forks": "-f",
    "private_key_file": "--private-key",
    "ssh_common_args": "--ssh-common-args",
    "ssh_extra_args": "--ssh-extra-args",
    "scp_extra_args": "--scp-extra-args",
    "sftp_extra_args": "--sftp-extra-args",
    "connection_password_file": "--connection-password-file",
    "become_method": "--become-method",
    "become_user": "--become-user",
    "become_password_file": "--become-password-file",
}
WITH_VALUES = {"vault_ids": "--vault-id", "vault_password_files": "--vault-password-file"}
FLAGS = {"become": "-b", "ask_pass": "-k", "become_ask_pass": "-K", "ask_vault_pass": "-J"}
PARAMETERS = frozenset(name for verb in VERBS for name in parameter_names(verb))


def carried_options(argv: Sequence[str], *, inventories: bool = True) -> list[str]:
    """Return the options of a command without which the next one reaches other nodes, or none; -i if asked for."""
    # By Ansible's own parser, which knows how options are abbreviated and combined. It has accepted these.
    if len(argv) < 2:
        return []
    cli = PlaybookCLI(list(argv))
    cli.init_parser()
    parser: Any = cli.parser
    parser.exit_on_error = False
    # What is not typed has no value, whatever the configuration says.
    empty = argparse.Namespace(inventory=None, **dict.fromkeys({**WITH_VALUE, **WITH_VALUES, **FLAGS}))
    try:
        known = vars(parser.parse_known_args(list(argv[1:]), empty)[0])
    except argparse.ArgumentError:
        return []
    words = [word for inventory in known["inventory"] or () for word in ("-i", inventory)] if inventories else []
    for destination, name in (*WITH_VALUE.items(), *WITH_VALUES.items()):
        value = known[destination]
        for text in value if isinstance(value, list) else [] if value is None else [str(value)]:
            words += [f"{name}={text}"] if name.startswith("--") else [name, text]
    return words + [name for destination, name in FLAGS.items() if known[destination]]


def carried_variables(options: Iterable[tuple[str, Mapping[str, object]]]) -> list[str]:
    """Return the texts for -e, from each one that was given and its variables: without parameters, without secrets.

    What is in a file is never printed: it may be encrypted as a whole, and its variables do not show that. The file is
    named; other verbs ignore what it has for a launch.
    """
    texts = []
    for text, variables in options:
        if text.startswith("@"):
            texts += [text] if variables.keys() - PARAMETERS else []
            continue
        policy = {name: value for name, value in variables.items() if _is_policy(name, value)}
        if policy:
            unchanged = len(policy) == len(variables) and not SECRET_OPTION.search(text)
            texts.append(text if unchanged else _json(policy))
    return texts


def without_launch(verb: str, variables: Iterable[str], typed: Iterable[str]) -> set[str]:
    """Return the variables without what files have for launches, which other verbs ignore; `typed` are in no file."""
    of_launches = {name for verb in ("launch", "sweep", "submit") for name in parameter_names(verb)}
    return {*variables} - (of_launches - {*parameter_names(verb), *typed})


def _is_policy(name: object, value: object) -> bool:
    """Whether a variable is neither a parameter nor a secret: a role's, Ansible's, or the inventory's own."""
    if name in PARAMETERS or not isinstance(name, str):
        return False
    return not SECRET_OPTION.search(_json({name: value})) and not refuse_encrypted([(name, value)])


def _json(variables: Mapping[Any, object]) -> str:
    return json.dumps(variables, default=str, skipkeys=True)  # YAML has dates
