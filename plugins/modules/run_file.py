# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a part of a file of a run on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_file
short_description: Read a part of a file of a run
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - The verb C(collect) reads a file with it where Ansible cannot copy the file, because only another user may
    read it or because the login prints text into the copy. The head's plan is read with it, too.
  - Reads at most 8 MiB at a time, so that a large file never fills the controller's memory.
options:
  workdir: {description: The node's work directory., type: path, required: true}
  run_id: {description: The run., type: str, required: true}
  node: {description: The node's name in the inventory., type: str, required: true}
  path: {description: The file's path below the run's directory., type: str, required: true}
  shared_output_dir:
    description: >-
      The directory of all nodes below which the run has its outputs, in a directory of its ID. Without it they are in
      the run directory.
    type: path
  offset: {description: The byte from which to read., type: int, default: 0}
extends_documentation_fragment:
  - muster.train.attributes
  - muster.train.attributes.playbooks
seealso:
  - module: muster.train.step
"""

EXAMPLES = r"""
- name: Read the beginning of the runner's log
  muster.train.run_file:
    workdir: /home/me/muster
    run_id: multinode_42ch_256th_20261120_143052
    node: "{{ inventory_hostname }}"
    path: runner.log
"""

RETURN = r"""
content:
  description: The part, encoded in base64.
  returned: success
  type: str
sha256:
  description: The digest of the part.
  returned: success
  type: str
last:
  description: Whether the file ends with this part.
  returned: success
  type: bool
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.muster.train.plugins.module_utils._host.require_python import require_python

require_python()

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.job import SAFE_RUN_ID
from ansible_collections.muster.train.plugins.module_utils._runs.files import RunPaths, read_part
from ansible_collections.muster.train.plugins.module_utils._runs.read import run_directory, strange
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "workdir": {"type": "path", "required": True},
            "run_id": {"type": "str", "required": True},
            "node": {"type": "str", "required": True},
            "path": {"type": "str", "required": True},
            "shared_output_dir": {"type": "path"},
            "offset": {"type": "int", "default": 0},
        },
        supports_check_mode=True,
    )
    params = module.params
    if not SAFE_RUN_ID.fullmatch(params["run_id"]):
        module.fail_json(msg=f"run_id: {params['run_id']!r} is not a valid run ID")
    if params["offset"] < 0:
        module.fail_json(msg=f"offset: expected 0 or more, saw {params['offset']}")
    host = Host()
    directory = run_directory(params["workdir"], params["node"], params["run_id"])
    part = None
    if strange(host, params["workdir"], params["node"], directory) is None:
        paths = RunPaths.of(directory, params["shared_output_dir"], params["run_id"])
        part = read_part(host, paths, params["path"], params["offset"])
    if part is None:
        module.fail_json(msg=f"path: {clean(params['path'])} could not be read in {directory}; expected a file there")
    module.exit_json(changed=False, **part)


if __name__ == "__main__":
    main()
