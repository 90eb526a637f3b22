# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An inventory of the pods of a StatefulSet."""

from __future__ import annotations

DOCUMENTATION = r"""
name: statefulset
short_description: The pods of a StatefulSet of Kubernetes or OpenShift
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Makes the pods of a StatefulSet the hosts of the group V(nodes), by their ordinals as numbers, which are the node
    ranks.
  - A pod that does not run, or does not exist at the moment, keeps its place. A StatefulSet with 0 replicas is an
    inventory without hosts, and so is a namespace without the StatefulSet. A warning says so, or a verb that needs
    nodes.
  - The controller needs C(kubectl) or C(oc), logged in, and the right to get and list StatefulSets and pods and to
    execute in pods. Tasks run by the connection plugin C(kubernetes.core.kubectl), or C(community.okd.oc).
  - Accepts configuration files named C(*statefulset.yml) or C(*statefulset.yaml).
  - Sets C(ansible_connection) and its variables, C(ansible_remote_tmp), which every user of a pod can write to,
    C(ansible_host), which is the pod's name in the headless service, and C(launch_head_address), which is that of the
    first pod.
  - Sets C(pod_ready), and for a pod that exists C(pod_phase), C(pod_node) (the node of Kubernetes), C(pod_addresses)
    and C(pod_networks) (C(name), C(interface), C(addresses) and C(pci) of each network that Multus has attached).
options:
  plugin:
    description: This plugin.
    type: str
    required: true
    choices: [muster.train.statefulset]
  binary:
    description: The client of the cluster, and the connection with it.
    type: str
    choices: [kubectl, oc]
    default: kubectl
  kubeconfig:
    description: The configuration of the client, by default its own.
    type: path
    env:
      - name: K8S_AUTH_KUBECONFIG
  context:
    description: The context in that configuration, by default the current one.
    type: str
    env:
      - name: K8S_AUTH_CONTEXT
  namespace:
    description: The namespace, by default that of the context.
    type: str
    env:
      - name: K8S_AUTH_NAMESPACE
  statefulset:
    description: The StatefulSet, by default the only one in the namespace.
    type: str
    env:
      - name: MUSTER_STATEFULSET
  container:
    description: The container of the pod that tasks run in, by default the first.
    type: str
  group:
    description: The group that the pods belong to.
    type: str
    default: nodes
"""

EXAMPLES = r"""
# inventories/openshift/statefulset.yml; the policy is in group_vars/nodes.yml next to it.
# ansible-playbook -i inventories/openshift launch.yml
plugin: muster.train.statefulset
namespace: training
statefulset: trainer
---
# By oc, in the project that oc is in
plugin: muster.train.statefulset
binary: oc
"""

import os
import re

from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.inventory import BaseInventoryPlugin
from ansible.utils.display import Display

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.plugin_utils._action.inventories import add_group, note_absence, refuse
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._pods.command import Client
from ansible_collections.muster.train.plugins.plugin_utils._pods.hosts import find_hosts

display = Display()

CONFIG = re.compile(r".*statefulset\.ya?ml")


class InventoryModule(BaseInventoryPlugin):
    """Read the pods of a StatefulSet."""

    NAME = "muster.train.statefulset"

    def verify_file(self, path: str) -> bool:
        return bool(os.access(path, os.R_OK) and CONFIG.fullmatch(os.path.basename(path)))

    def parse(self, inventory: InventoryData, loader: DataLoader, path: str, cache: bool = True) -> None:
        super().parse(inventory, loader, path)
        self._read_config_data(path)
        of_client = ("binary", "kubeconfig", "context", "namespace")
        client = Client(*(self.get_option(name) or "" for name in of_client))
        statefulset, container = (self.get_option(name) or "" for name in ("statefulset", "container"))
        try:
            pods = find_hosts(client, statefulset, container, Host().run)
        except UserError as error:
            refuse(path, error)
        if pods.note:
            note_absence(pods.note)
        for text in pods.warnings:
            display.warning(text)
        group = add_group(inventory, self.get_option("group"))
        for name, value in pods.variables.items():
            inventory.set_variable(group, name, value)
        for host, variables in pods.hosts.items():
            inventory.add_host(host, group=group)
            for name, value in variables.items():
                inventory.set_variable(host, name, value)
