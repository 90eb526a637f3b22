# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An inventory of a plain list of hosts, such as a node_ip_list.txt."""

from __future__ import annotations

DOCUMENTATION = r"""
name: node_list
short_description: Read hosts from a plain list, the head first
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Reads a C(node_ip_list.txt) with a host name or an IPv4 address on each line, the head first. Blank lines and C(#)
    comments are ignored. A line may be C(user@host:port).
  - The group V(nodes) keeps the order, which is the node rank.
  - An invalid or duplicate host is refused with its line number.
  - Accepts files named C(node_ip_list.txt) or C(*.node_list.txt), and configuration files C(*node_list.yml) or
    C(*node_list.yaml).
  - 'A plain list requires the plugin before the others in C(ansible.cfg), in the section C([inventory]) -
    C(enable_plugins = muster.train.node_list, host_list, script, auto, yaml, ini, toml). A configuration file does
    not.'
  - Ansible ignores C(*.txt) files in an inventory directory. Give the file itself, or add a configuration file with
    O(path).
options:
  plugin:
    description: This plugin.
    type: str
    required: true
    choices: [muster.train.node_list]
  path:
    description: The list, relative to the configuration file.
    type: str
  hosts:
    description:
      - Hosts to use instead of a list, as C(HOST) or C(USER@HOST:PORT). Ranges are expanded, C(gpu[01-16]).
      - Exactly one of O(path) and O(hosts) is required.
    type: list
    elements: str
  group:
    description: The group that the hosts belong to, in this order.
    type: str
    default: nodes
"""

EXAMPLES = r"""
# In a shell, where ansible.cfg enables the plugin: ansible-playbook -i node_ip_list.txt launch.yml

# inventories/mycluster/node_list.yml; the policy is in group_vars/nodes.yml next to it
plugin: muster.train.node_list
path: ../../node_ip_list.txt
---
# The same, from ranges
plugin: muster.train.node_list
hosts:
  - head.example.com
  - train@gpu[01-16].example.com
"""

import os
import re

from ansible.errors import AnsibleParserError
from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.inventory import BaseInventoryPlugin
from ansible.utils.display import Display

from ansible_collections.muster.train.plugins.plugin_utils._request.host_list import (
    HostsError,
    Target,
    parse_hosts,
    parse_node_list,
)

display = Display()

LIST = re.compile(r"node_ip_list\.txt|.*\.node_list\.txt")
CONFIG = re.compile(r".*node_list\.ya?ml")


class InventoryModule(BaseInventoryPlugin):
    """Read a list of hosts, or a configuration that names one."""

    NAME = "muster.train.node_list"

    def verify_file(self, path: str) -> bool:
        name = os.path.basename(path)
        return bool(os.access(path, os.R_OK) and (LIST.fullmatch(name) or CONFIG.fullmatch(name)))

    def parse(self, inventory: InventoryData, loader: DataLoader, path: str, cache: bool = True) -> None:
        super().parse(inventory, loader, path)
        try:
            if LIST.fullmatch(os.path.basename(path)):
                group, targets = "nodes", _read(path)
            else:
                group, targets = self._configured(path)
        except AnsibleParserError as error:
            # Ansible tries the next plugin; if that one accepted the file, this error would never be shown.
            display.error(str(error))
            raise
        inventory.add_group(group)
        for target in targets:
            inventory.add_host(target.name, group=group)
            for name, value in target.variables().items():
                inventory.set_variable(target.name, name, value)

    def _configured(self, path: str) -> tuple[str, list[Target]]:
        self._read_config_data(path)
        group, file, hosts = (self.get_option(name) for name in ("group", "path", "hosts"))
        if (file is None) == (hosts is None):
            raise AnsibleParserError(f"{path}: expected either path or hosts; give one of them")
        if file is not None:
            return group, _read(os.path.join(os.path.dirname(path), os.path.expanduser(file)))
        try:
            return group, parse_hosts(hosts)
        except HostsError as error:
            raise _refused(path, error) from None


def _read(path: str) -> list[Target]:
    try:
        with open(path, encoding="utf-8") as stream:
            return parse_node_list(stream.read())
    except HostsError as error:
        raise _refused(path, error) from None
    except (OSError, UnicodeDecodeError) as error:
        raise AnsibleParserError(f"{path}: could not be read ({error}); expected one host per line") from None


def _refused(path: str, error: HostsError) -> AnsibleParserError:
    return AnsibleParserError("\n".join(f"{path}: {line}" for line in error.lines))
