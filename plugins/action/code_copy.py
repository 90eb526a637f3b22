# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `code_copy`: chooses how a directory of the controller comes to a node, and says what that changes."""

from __future__ import annotations

import base64
import json
import os
import shlex
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleConnectionFailure, AnsibleError

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.file_tree import (
    TreeDifference,
    pack_tree,
    unpack_tree,
)
from ansible_collections.muster.train.plugins.module_utils._software.copied_tree import read_original
from ansible_collections.muster.train.plugins.module_utils._software.excludes import unknown_patterns
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean
from ansible_collections.muster.train.plugins.plugin_utils._action.base import Action
from ansible_collections.muster.train.plugins.plugin_utils._action.code_archive import code_archive
from ansible_collections.muster.train.plugins.plugin_utils._action.files import make_once
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._setup.copied_code import (
    RSYNC,
    choose_way,
    parse_rsync,
    show_difference,
)
from ansible_collections.muster.train.plugins.plugin_utils._text.table import one_line

OPTIONS = {
    "src": {"type": "path", "required": True},
    "dest": {"type": "str", "required": True},  # the node expands ~
    "excludes": {"type": "list", "elements": "str", "default": []},
    "delete": {"type": "bool", "default": False},
    "listing": {"type": "str"},
    "archive": {"type": "str"},
    "archive_file": {"type": "path"},
}
# What the node answered, and how its copy differs; None if it failed.
Copied = tuple[dict[str, Any], "TreeDifference | None"]
# Bytes of an archive that goes with the module: a file for it needs three more commands on the node.
SMALL = 1024 * 1024


def _list_code(src: str, excludes: list[str]) -> str:
    """Return what a node is to have; raise UserError where it cannot be read."""
    original = read_original(Host(), src, excludes)
    if original.unreadable:
        name, why = next(iter(original.unreadable.items()))
        raise UserError(
            f"code_rsync_path: {src}/{name} could not be read ({why}); let your user read it, or exclude it with "
            "code_rsync_excludes"
        )
    return pack_tree(original.entries)


class ActionModule(Action):
    """Copy by rsync where it reaches the node, else as an archive of what differs."""

    OPTIONS = OPTIONS

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        way = choose_way(self._connection.transport)
        copy = self._copy_by_rsync if way == RSYNC else self._copy_as_archive
        answer, difference = copy(args, variables)
        if difference is None:
            return answer
        names = {"added": difference.added, "replaced": difference.changed, "removed": difference.removed}
        return {
            "changed": answer["changed"],
            "way": way,
            **{name: [clean(path) for path in paths] for name, paths in names.items()},
            "diff": {"prepared": show_difference(difference, args["src"], args["dest"], way)},
        }

    def _copy_by_rsync(self, args: dict[str, Any], variables: dict[str, Any]) -> Copied:
        task = self._task.copy()
        task.args = {
            "src": f"{args['src']}/",
            "dest": f"{args['dest']}/",
            "archive": True,
            "owner": False,
            "group": False,
            "delete": args["delete"],
            # Without the times of directories, because every file written into one changes its time.
            # Quoted, because synchronize makes one line of all options and splits it as a shell does.
            "rsync_opts": ["--omit-dir-times", *(shlex.quote(f"--exclude={pattern}") for pattern in args["excludes"])],
            # For example the inventory's known_hosts file.
            "use_ssh_args": True,
        }
        action = self._shared_loader_obj.action_loader.get(
            "ansible.posix.synchronize",
            task=task,
            connection=self._connection,
            play_context=self._play_context,
            loader=self._loader,
            templar=self._templar,
            shared_loader_obj=self._shared_loader_obj,
        )
        answer = action.run(task_vars=variables)
        return answer, None if answer.get("failed") else parse_rsync(answer["stdout_lines"])

    def _copy_as_archive(self, args: dict[str, Any], variables: dict[str, Any]) -> Copied:
        node = variables["inventory_hostname"]
        if unknown := unknown_patterns(args["excludes"]):
            raise UserError(
                f"{node}: code_rsync_excludes: only rsync, which does not reach this node, knows {', '.join(unknown)}; "
                "use *, **, ? and [a-z], without a backslash"
            )
        # For one task all nodes get the code as it was read once.
        listing = make_once(f"code-{self._task._uuid}.listing", lambda: _list_code(args["src"], args["excludes"]))
        options = {**args, "listing": listing, "archive": None, "archive_file": None}
        answer = self._run_on(node, options, variables)
        difference = TreeDifference(*json.loads(answer["difference"])) if "difference" in answer else None
        if difference and any(difference) and not self._task.check_mode:
            # The node says what it lacks, but does not choose what it may read.
            lacking = unpack_tree(listing).keys() & {*difference.added, *difference.changed}
            with code_archive(args["src"], sorted(lacking)) as archive:
                if os.path.getsize(archive) > SMALL:
                    options["archive_file"] = self._put(archive, node)
                else:
                    options["archive"] = base64.b64encode(Path(archive).read_bytes()).decode()
            answer = self._run_on(node, options, variables)
        return answer, None if answer.get("failed") else difference

    def _run_on(self, node: str, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        answer = self._execute_module("muster.train.code_copy", options, task_vars=variables)
        return {**answer, "msg": f"{node}: {answer['msg']}"} if answer.get("failed") else answer

    def _put(self, archive: str, node: str) -> str:
        """Return where the archive is on the node, until the task ends."""
        folder = self._make_tmp_path()
        try:
            place: str = self._transfer_file(archive, self._connection._shell.join_path(folder, "code.tar.gz"))
        except AnsibleConnectionFailure:
            raise
        except AnsibleError as error:
            raise UserError(
                f"{node}: {os.path.getsize(archive) / 1e6:.0f} MB could not be written to {folder} "
                f"({one_line(error)}); free space there, or set ansible_remote_tmp to a directory with more"
            ) from None
        self._fixup_perms2((folder, place), execute=False)
        return place
