# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much memory a login, services and containers of a node may really lock."""

from __future__ import annotations

DOCUMENTATION = r"""
module: memlock_info
short_description: How much memory a login, services and containers of a node may lock
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Reads the limit of locked memory (RDMA needs it) of processes, because what a unit or a file of limits says is not
    what its processes have.
  - Without O(engine), O(units) and O(files) it tells about the login that runs it. With a connection that is kept open
    that is the login of when it was opened.
  - Services, containers and other users' runs are seen by root only.
options:
  units:
    description: Units of systemd whose main process is of interest.
    type: list
    elements: str
    default: []
  files:
    description: Files whose text is of interest.
    type: list
    elements: path
    default: []
  engine:
    description: Whether to ask the container engine.
    type: bool
    default: false
  docker:
    description: The command of the container engine and what comes before it.
    type: list
    elements: str
    default: [docker]
  image:
    description:
      - The image of the container that is started to read its limit. It must be there, and nothing of it is started but
        C(cat).
      - The default is any image that is there.
    type: str
    default: ""
extends_documentation_fragment:
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
  description: The limits, in bytes. V(-1) is unlimited, null could not be known from there.
  returned: always
  type: dict
  contains:
    login:
      description: The process that looked, and its C(user), C(uid) and whether the user's services linger (C(linger)).
      type: dict
      contains:
        soft: {description: The limit., type: int, sample: 8388608}
        hard: {description: How far the user can raise it., type: int, sample: 8388608}
        cap_ipc_lock: {description: Whether the kernel does not count what is locked., type: bool}
        effective: {description: What comes of both., type: int}
    units:
      description: >-
        Of the O(units) that systemd has loaded, by name, C(pid), C(configured), and C(soft) and C(hard) of the process,
        and whether systemd has to read the unit's files again (C(reload)).
      type: dict
    unit_files:
      description: Those of the O(units) that have a file of their own, and are no second name of another.
      type: list
      elements: str
    files: {description: 'The text of the O(files) by path, null where there is none.', type: dict}
    runs: {description: 'The runs whose runner lives on the node.', type: list, elements: str}
    engine:
      description: The container engine. Null where there is none, and without O(engine).
      type: dict
      contains:
        running: {description: Whether it answers., type: bool}
        why: {description: What it says instead., type: str}
        containers:
          description: Those that are up, each with C(name), C(gpu), C(privileged).
          type: list
          elements: dict
        live_restore: {description: Whether they outlive a restart of the engine., type: bool}
        stale: {description: Whether its C(daemon.json) is newer than its process., type: bool}
        flag: {description: Whether it has default limits on its command line., type: bool}
        container:
          description: >-
            The limits (C(soft), C(hard)) of a new container of C(image), or C(why) not; C(image) is null where there is
            none. Null where none was started, as in check mode.
          type: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.muster.train.plugins.module_utils._host import require_python  # noqa: F401

# isort: split
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
    asked = module.params
    host = Host()
    engine = None
    if asked["engine"]:
        engine = info.read_engine(host, asked["docker"], asked["image"], not module.check_mode)
    memlock = {
        "login": info.read_login(host),
        "units": info.read_units(host, asked["units"]),
        "unit_files": info.existing_units(host, asked["units"]),
        "files": {path: host.read_text(path) for path in asked["files"]},
        "runs": info.read_runs(),
        "engine": engine,
    }
    module.exit_json(changed=False, memlock=memlock)


if __name__ == "__main__":
    main()
