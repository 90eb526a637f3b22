# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A connection to a node of a Slurm allocation."""

from __future__ import annotations

DOCUMENTATION = r"""
name: srun
short_description: Run tasks on the nodes of a Slurm allocation, by steps of its job
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Runs every command as a step of a job, C(srun --overlap --jobid JOB --nodelist NODE), for clusters on whose nodes
    users cannot log in by ssh.
  - The step gets the job's GPUs on the node, and shares all its resources with the job's other steps.
  - Where Slurm tracks processes by control groups (C(ProctrackType=proctrack/cgroup)), everything that a command
    leaves behind ends with it, so C(async) does not work. A launch of this collection does.
  - The controller needs the commands of Slurm, as on a login node, and a job that runs.
options:
  job:
    description: The ID of the job. The inventory plugin P(muster.train.slurm#inventory) sets the variable.
    type: str
    required: true
    vars:
      - name: ansible_srun_job
  host:
    description: The node's name in Slurm.
    type: str
    default: inventory_hostname
    vars:
      - name: inventory_hostname
      - name: ansible_host
  export:
    description:
      - The variables of the controller's environment that commands on the node get. V(ALL) is all of them, as srun
        does it by default.
      - Slurm's own variables of the step, and those of the job's GPUs, are always set.
    type: list
    elements: str
    default: [HOME, USER, LOGNAME, SHELL, LANG, PATH]
    vars:
      - name: ansible_srun_export
  become_success_timeout:
    description: Seconds to wait until another user is become.
    type: int
    default: 10
    vars:
      - name: ansible_srun_become_success_timeout
  become_strip_preamble:
    description: Whether to remove what becoming another user prints before the command.
    type: bool
    default: true
    vars:
      - name: ansible_srun_become_strip_preamble
extends_documentation_fragment:
  - connection_pipelining
"""

import os
import shlex
import shutil
from typing import Any

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.connection.local import Connection as LocalConnection
from ansible.utils.display import Display

from ansible_collections.muster.train.plugins.plugin_utils._action.shell_session import SessionEnded, ShellSession
from ansible_collections.muster.train.plugins.plugin_utils._slurm.step_command import (
    NOT_STARTED,
    on_node,
    srun,
    without_exit_codes,
)

display = Display()

# Commands of a task that are steps of their own: more come where a node is looked at again and again.
MOST_STEPS = 3


class Connection(LocalConnection):
    """A node, on which the local command srun runs what Ansible asks for."""

    transport = "muster.train.srun"
    has_pipelining = True

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._commands = 0
        self._session: ShellSession | None = None

    def _connect(self) -> Connection:
        if shutil.which("srun") is None:
            raise AnsibleConnectionFailure("srun was not found on this machine: run this where Slurm's commands are")
        super()._connect()
        return self

    def exec_command(self, cmd: str, in_data: bytes | None = None, sudoable: bool = True) -> tuple[int, bytes, bytes]:
        # As after a login, whose working directory is the home.
        command = f"cd 2>/dev/null; {cmd}"
        if in_data is None and not (self.become and sudoable):
            self._commands += 1
            if self._commands > MOST_STEPS:
                return self._run_in_session(command)
        return self._run(command, in_data=in_data, sudoable=sudoable)

    def put_file(self, in_path: str, out_path: str) -> None:
        if not os.path.exists(in_path):
            raise AnsibleError(f"{in_path} does not exist")
        code, _out, err = self._run(f"cat > {shlex.quote(out_path)}", f" < {shlex.quote(in_path)}")
        if code:
            raise AnsibleError(f"{out_path} could not be written on {self.get_option('host')}: {_text(err)}")

    def fetch_file(self, in_path: str, out_path: str) -> None:
        code, _out, err = self._run(f"cat -- {shlex.quote(in_path)}", f" > {shlex.quote(out_path)}")
        if code:
            raise AnsibleError(f"{in_path} could not be read on {self.get_option('host')}: {_text(err)}")

    def reset(self) -> None:
        """End the shell, if there is one: every other command is a step of its own."""
        if self._session is not None:
            self._session.end()
        self._session = None

    def close(self) -> None:
        self.reset()
        super().close()

    def _run_in_session(self, command: str) -> tuple[int, bytes, bytes]:
        """Run a command in a shell that stays: a job may have only so many steps (slurm.conf(5), MaxStepCount)."""
        self._connect()
        if self._session is None:
            self._session = ShellSession([*self._srun(), "/bin/sh"])
        try:
            return self._session.run(command)
        except SessionEnded as ended:
            self.reset()
            raise AnsibleConnectionFailure(f"{ended or 'srun: the step has ended'}") from None

    def _run(
        self, command: str, redirection: str = "", in_data: bytes | None = None, sudoable: bool = False
    ) -> tuple[int, bytes, bytes]:
        """Run a command on the node, with its input or output in a file here; raise if its step did not start."""
        self._connect()
        line = shlex.join([*self._srun(), "/bin/sh", "-c", command]) + redirection
        display.vvv(f"SRUN {line}", host=self.get_option("host"))
        code, out, err = super().exec_command(line, in_data=in_data, sudoable=sudoable)
        if code == NOT_STARTED and not out:
            raise AnsibleConnectionFailure(f"{_text(err) or 'srun: the step did not start'}")
        return code, out, without_exit_codes(err)

    def _srun(self) -> list[str]:
        """Return how a command line on the node begins."""
        step = on_node(self.get_option("job"), self.get_option("host"))
        return [*srun(self.get_option("export"), os.environ), *step]


def _text(stderr: bytes) -> str:
    return stderr.decode("utf-8", "replace").strip()
