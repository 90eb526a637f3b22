# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the effective limits of locked memory of a login, services and containers."""

from __future__ import annotations

DOCUMENTATION = r"""
module: memlock_info
short_description: Read the limits of locked memory of a login, services and containers
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Reads the limit of locked memory (which RDMA needs) of processes, because it can differ from what a unit or a limits
    file configures.
  - Without O(engine), O(units) and O(files) it reads only the limit of its own login. With a persistent connection that
    is the login at which the connection was opened.
  - Services, containers and other users' runs can be read only by root.
options:
  units: {description: systemd units whose main process to read., type: list, elements: str, default: []}
  files: {description: Files whose text to return., type: list, elements: path, default: []}
  engine: {description: Whether to query the container engine., type: bool, default: false}
  image:
    description:
      - Image of the container that is started to read its limit. It must be on the node. Only C(cat) is run in it.
      - By default any image on the node.
    type: str
    default: ""
extends_documentation_fragment:
  - muster.train.options.docker
  - muster.train.attributes
  - muster.train.attributes.info_module
attributes:
  check_mode:
    details:
      - In check mode no container is started.
"""

EXAMPLES = r"""
- name: What may a login lock?
  muster.train.memlock_info:

- name: And what may containers lock?
  muster.train.memlock_info:
    engine: true
    image: muster-train:bookworm
  become: true
"""

RETURN = r"""
memlock:
  description: The limits in bytes. V(-1) is unlimited, null could not be determined.
  returned: always
  type: dict
  contains:
    login:
      description: This module's process, with its C(user), C(uid) and whether the user's services linger (C(linger)).
      type: dict
      contains:
        soft: {description: The limit., type: int, sample: 8388608}
        hard: {description: The limit up to which the user can raise it., type: int, sample: 8388608}
        cap_ipc_lock: {description: Whether the limit does not apply., type: bool}
        effective: {description: The effective limit., type: int}
    units:
      description: >-
        For each of the O(units) that systemd has loaded, C(pid), C(configured), C(soft) and C(hard) of the process, and
        whether systemd has to reload the unit's files (C(reload)).
      type: dict
    unit_files: {description: The O(units) that have their own file and are not an alias., type: list, elements: str}
    files: {description: 'The text of the O(files) by path, null if a file does not exist.', type: dict}
    runs: {description: 'The runs with an active runner on the node.', type: list, elements: str}
    engine:
      description: The container engine. Null if there is none, and without O(engine).
      type: dict
      contains:
        running: {description: Whether it answers., type: bool}
        why: {description: The reason if not., type: str}
        containers:
          description: The running containers, each with C(name), C(gpu), C(privileged).
          type: list
          elements: dict
        live_restore: {description: Whether they survive a restart of the engine., type: bool}
        stale: {description: Whether its C(daemon.json) is newer than its process., type: bool}
        flag: {description: Whether it has default limits on its command line., type: bool}
        container:
          description: >-
            The limits (C(soft), C(hard)) of a new container of C(image), or the reason as C(why). C(image) is null if
            there is none. Null if no container was started, as in check mode.
          type: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.muster.train.plugins.module_utils._host.require_python import require_python

require_python()

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._memlock import info


def main() -> None:
    spec = {
        "units": {"type": "list", "elements": "str", "default": []},
        "files": {"type": "list", "elements": "path", "default": []},
        "engine": {"type": "bool", "default": False},
        "docker": {"type": "list", "elements": "str", "default": ["docker"]},
        "image": {"type": "str", "default": ""},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    params = module.params
    host = Host()
    engine = None
    if params["engine"]:
        engine = info.read_engine(host, params["docker"], params["image"], not module.check_mode)
    memlock = {
        "login": info.read_login(host),
        "units": info.read_units(host, params["units"]),
        "unit_files": info.existing_units(host, params["units"]),
        "files": {path: host.read_text(path) for path in params["files"]},
        "runs": info.read_runs(),
        "engine": engine,
    }
    module.exit_json(changed=False, memlock=memlock)


if __name__ == "__main__":
    main()
