# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copy a directory of the controller to a node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: code_copy
short_description: Copy a directory of the controller to a node
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Makes a directory on the node the same as one of the controller, and says which files that adds, changes and
    removes.
  - Over ssh, and on the controller itself, C(ansible.posix.synchronize) does it, which needs rsync on both sides.
  - Over every other connection (P(muster.train.srun#connection), kubectl, oc, docker), the node compares digests of its
    files with those of the controller, and what differs is copied as one archive. That needs nothing but Python on the
    node. Each file is replaced at once, with its mode and time. Of modes only whether the owner may execute a file is
    compared.
options:
  src: {description: Directory on the controller. Its content is copied., type: path, required: true}
  dest: {description: Directory on the node; C(~) is its user's home., type: str, required: true}
  excludes:
    description: Patterns of what is not copied and not deleted, as rsync has them.
    type: list
    elements: str
    default: []
  delete: {description: Whether to delete what O(src) does not have., type: bool, default: false}
  listing:
    description: What is to be there, as compressed text. The action sets it; a given value is replaced.
    type: str
  archive:
    description:
      - What differs, as an archive in base64. The action sets it; a given value is replaced.
      - Without it and O(archive_file), nothing is written.
    type: str
  archive_file:
    description: A file on the node with the archive if it is large. The action sets it; a given value is replaced.
    type: path
extends_documentation_fragment:
  - muster.train.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
seealso:
  - module: muster.train.node_facts
"""

EXAMPLES = r"""
- name: Copy the code
  muster.train.code_copy:
    src: /home/me/mymodel
    dest: /workspace/code
    excludes: [__pycache__/, "*.pt"]
"""

RETURN = r"""
way:
  description: How it was copied, C(rsync) or C(archive).
  returned: success
  type: str
added: {description: Paths of new files below O(dest)., returned: success, type: list, elements: str}
replaced: {description: Paths of files that differed., returned: success, type: list, elements: str}
removed: {description: Paths of files that were deleted., returned: success, type: list, elements: str}
"""

import base64
import json
import zlib

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.muster.train.plugins.module_utils._host.require_python import require_python

require_python()

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._host.tree import extract_archive, remove_paths
from ansible_collections.muster.train.plugins.module_utils._records.file_tree import unpack_tree
from ansible_collections.muster.train.plugins.module_utils._software.copied_tree import compare_copy, why_not_written


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "src": {"type": "path", "required": True},
            "dest": {"type": "str", "required": True},
            "excludes": {"type": "list", "elements": "str", "default": []},
            "delete": {"type": "bool", "default": False},
            # No secrets, but too long for the node's system log.
            "listing": {"type": "str", "no_log": True},
            "archive": {"type": "str", "no_log": True},
            "archive_file": {"type": "path"},
        },
        supports_check_mode=True,
    )
    params = module.params
    host = Host()
    dest = host.expand(params["dest"])
    archive = params["archive_file"] or base64.b64decode(params["archive"] or "")
    try:
        wanted = unpack_tree(params["listing"] or "")
    except (ValueError, zlib.error):
        module.fail_json(msg="listing: expected what the action code_copy sets; use the module as a task's action")
    difference = compare_copy(host, dest, wanted, params["excludes"], params["delete"])
    if archive and not module.check_mode:
        try:
            remove_paths(host, dest, difference.removed)
            extract_archive(host, dest, archive)
        except OSError as error:
            module.fail_json(msg=why_not_written(error, host.user_name()))
    # As text of ASCII: a name need not be UTF-8.
    module.exit_json(changed=any(difference), difference=json.dumps(difference))


if __name__ == "__main__":
    main()
