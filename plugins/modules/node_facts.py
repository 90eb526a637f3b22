# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node is: everything a launch needs to know of it, in one look."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_facts
short_description: What a node is, as a launch needs to know it
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Reads a node and returns the facts that a launch is planned from, in one execution.
  - It only looks. Nothing on the node is changed and nothing is decided.
  - What cannot be seen is null and a warning says why. A part that hangs costs ten seconds, and the others are told.
options:
  workdir:
    description:
      - The node's work directory. It need not exist.
      - C(~) and C($VARIABLES) of the user on the node are replaced.
    type: path
    required: true
  code_dir:
    description:
      - The directory with the code that the ranks run in. Relative paths in other options are below it.
      - The default is O(workdir).
    type: path
  python:
    description: >-
      The training interpreter, as a name to look for in E(PATH) or as a path; a relative path is below O(code_dir).
    type: str
    default: python3
  files:
    description: Files to look for, such as the script.
    type: list
    elements: str
    default: []
  config:
    description: The launch's configuration file. Its content is returned when it has at most 256 KiB of UTF-8.
    type: str
  ports:
    description: TCP ports whose holder is of interest when somebody listens on them.
    type: list
    elements: int
    default: []
  slot:
    description: The slot of the work directory whose holder is of interest.
    type: str
    default: default
  subset:
    description:
      - The parts to look at. The others are null.
      - The identity, the work directory and the interpreter are always there.
    type: list
    elements: str
    choices: [net, gpu, code, files, limits, slot]
    default: [net, gpu, code, files, limits, slot]
extends_documentation_fragment:
  - muster.train.root
  - muster.train.attributes
  - muster.train.attributes.facts
"""

EXAMPLES = r"""
- name: Everything a launch needs to know of this node
  muster.train.node_facts:
    workdir: ~/muster
    code_dir: ~/muster/code
    python: venv/bin/python
    files: [train.py]
    config: configs/model.yaml
    ports: [29500]

- name: Only the network of the host, from a container that has the host's tree under /host
  muster.train.node_facts:
    root: /host
    workdir: /var/lib/muster
    subset: [net]
"""

RETURN = r"""
ansible_facts:
  description: Facts to add to C(ansible_facts). Null is what could not be known from there.
  returned: always
  type: dict
  contains:
    node:
      description: What the node is.
      returned: always
      type: dict
      contains:
        hostname:
          description: The name the kernel gives the node.
          type: str
        machine_id:
          description: The installation, from C(/etc/machine-id).
          type: str
        boot_id:
          description: The boot of the kernel. Containers of one machine have the same.
          type: str
        user:
          description: Who the facts were gathered as.
          type: dict
          contains:
            name: {description: The name., type: str}
            uid: {description: The effective user id., type: int}
            home: {description: The home directory., type: str}
        cpus:
          description: The CPUs this user's processes may use.
          type: int
        gpu:
          description: GPUs that a process there can open.
          type: dict
          contains:
            vendor: {description: 'V(nvidia) or V(amd), null without a GPU of theirs.', type: str}
            count: {description: How many. 0 with a vendor where GPUs are in the machine but not for us., type: int}
        net:
          description: How the node reaches others, IPv4.
          type: dict
          contains:
            addresses:
              description: >-
                Own addresses (C(address), C(interface)). The interface is null where the routes do not say it without
                doubt, as with several interfaces in one network.
              type: list
              elements: dict
            routes:
              description: Routes (C(destination), C(interface), C(gateway) or null, C(metric)).
              type: list
              elements: dict
            hcas:
              description: RDMA devices by name.
              type: list
              elements: str
            listening:
              description: TCP ports that somebody listens on.
              type: list
              elements: int
            holders:
              description: >-
                Of the O(ports) that somebody listens on, by port, the C(pid), C(command), C(run_id) and C(uid) of the
                process. Another user's process shows no more than its uid.
              type: dict
        workdir:
          description: The work directory.
          type: dict
          contains:
            path: {description: Its path without links., type: str}
            identity: {description: The same for two nodes that have the same directory of the same machine., type: str}
            writable: {description: Whether this user can write it or make it., type: bool}
            free_bytes: {description: Space left in bytes., type: int}
            filesystem: {description: 'Type of its file system, such as V(ext4) or V(nfs4).', type: str}
        code:
          description: The checkout.
          type: dict
          contains:
            path: {description: Its path., type: str}
            exists: {description: Whether the directory is there., type: bool}
            commit: {description: The commit., type: str}
            branch: {description: 'The branch, null when none is checked out.', type: str}
            dirty: {description: 'Whether files are changed, or new and not ignored.', type: bool}
        python:
          description: The training interpreter.
          type: dict
          contains:
            command: {description: As it was asked for., type: str}
            path: {description: 'Where it is, null when it was not found.', type: str}
        files:
          description: By name as asked for, C(path), C(exists), C(readable) and C(sha256) (null above 64 MiB).
          type: dict
        config:
          description: The configuration file.
          type: dict
          contains:
            path: {description: Its path., type: str}
            text: {description: 'Its content, null when it cannot be read whole.', type: str}
        systemd:
          description: What systemd would do for this user.
          type: dict
          contains:
            booted: {description: Whether systemd runs the machine., type: bool}
            linger: {description: Whether the user's services outlive the last session., type: bool}
        memlock:
          description: Limits of locked memory in bytes. V(-1) is unlimited.
          type: dict
          contains:
            soft: {description: The limit., type: int}
            hard: {description: How far this user can raise it., type: int}
        holder:
          description: >-
            Who holds the slot now (C(run_id), C(nonce), C(node), C(pid), C(since)), null when nobody does.
          type: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.muster.train.plugins.module_utils._host import Host
from ansible_collections.muster.train.plugins.module_utils._node import SUBSETS, Asked, gather


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "root": {"type": "path", "default": "/"},
            "workdir": {"type": "path", "required": True},
            "code_dir": {"type": "path"},
            "python": {"type": "str", "default": "python3"},
            "files": {"type": "list", "elements": "str", "default": []},
            "config": {"type": "str"},
            "ports": {"type": "list", "elements": "int", "default": []},
            "slot": {"type": "str", "default": "default"},
            "subset": {"type": "list", "elements": "str", "choices": list(SUBSETS), "default": list(SUBSETS)},
        },
        supports_check_mode=True,
    )
    params = module.params
    for name in ("workdir", "code_dir"):
        if params[name] is not None and not params[name].startswith("/"):
            module.fail_json(
                msg=f"{name} must be an absolute path on the node, or begin with ~; it is {params[name]!r}"
            )
    asked = Asked(
        workdir=params["workdir"],
        code_dir=params["code_dir"] or params["workdir"],
        python=params["python"],
        files=tuple(params["files"]),
        config=params["config"],
        ports=tuple(params["ports"]),
        slot=params["slot"],
        subset=tuple(params["subset"]),
    )
    host = Host(params["root"])
    if not host.is_dir("/"):
        module.warn(f"root {host.root} is not a directory: nothing can be seen there")
    facts, warnings = gather(host, asked)
    for warning in warnings:
        module.warn(f"{facts.hostname}: {warning}")
    module.exit_json(changed=False, ansible_facts={"node": facts.to_dict()})


if __name__ == "__main__":
    main()
