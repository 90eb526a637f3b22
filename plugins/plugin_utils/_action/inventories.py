# SPDX-License-Identifier: GPL-3.0-or-later
"""What the inventory plugins of clusters that are asked for their nodes have in common."""

from __future__ import annotations

from typing import NoReturn

from ansible import constants
from ansible.errors import AnsibleParserError
from ansible.inventory.data import InventoryData
from ansible.utils.display import Display

from .._findings.errors import UserError
from .command_line import GROUPS, WITHOUT_NODES, is_verb

display = Display()

NO_INVENTORY = 4  # as Ansible exits for an inventory that cannot be read


def refuse(path: str, error: UserError) -> NoReturn:
    """Say why an inventory cannot be read; where Ansible would not go on without it, end the command."""
    display.error(f"{path}: {error}")
    if constants.config.get_config_value("INVENTORY_ANY_UNPARSED_IS_FAILED"):
        # Ansible would try the next plugins, and print what each of them thinks of the file.
        raise SystemExit(NO_INVENTORY) from None
    raise AnsibleParserError(f"{path}: {error}") from None


def note_absence(note: str) -> None:
    """Keep why an inventory has no nodes for the verb that needs some; another command warns at once."""
    WITHOUT_NODES.append(note)
    if not is_verb():
        display.warning(note)


def add_group(inventory: InventoryData, name: str) -> str:
    """Add the group of the nodes, and keep it for verbs that read its variables before it has hosts."""
    group: str = inventory.add_group(name)
    GROUPS[group] = inventory.groups[group]
    return group
