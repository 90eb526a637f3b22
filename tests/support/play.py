# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbooks as a user types them, the one place where tests run them: no input, a time limit, and what was printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import yaml

ROOT = Path(__file__).resolve().parents[2]
PLAYBOOK = [sys.executable, "-m", "ansible", "playbook"]
LIMIT_S = 600.0


@dataclass
class Played:
    """What a playbook printed and how it ended; `err` is empty where both streams are one."""

    rc: int
    out: str
    err: str = ""

    @property
    def phases(self) -> dict[str, str]:
        """The phase of each node in the table of `status`, `stop` or a verdict."""
        return dict(
            re.findall(r"^(node\d+) +(?:(?:\d+(?: \(for [^)]+\))?|spare) +)?([a-z_]+)\b", self.out, re.MULTILINE)
        )

    @property
    def changed(self) -> dict[str, int]:
        """How many tasks changed something, by host."""
        changes = re.findall(r"^(\S+) +: ok=\d+ +changed=(\d+) ", self.out, re.MULTILINE)
        return {host: int(number) for host, number in changes}

    @property
    def messages(self) -> list[str]:
        """The lines that the first failed task says."""
        block = re.search(r"^fatal: .* => *\n((?: .*\n|\n(?= ))+)", self.out, re.MULTILINE)
        assert block, self.out
        return str(yaml.safe_load(block[1])["msg"]).splitlines()

    @property
    def words(self) -> str:
        """What was printed, without the line breaks that Ansible puts into long lines."""
        return " ".join(self.out.split())


def search_path() -> str:
    """Return the PATH as if the venv were active: Ansible, its runner and molecule start each other by name."""
    return os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))


def run_to_end(
    argv: Sequence[str],
    environment: Mapping[str, str],
    cwd: Path = ROOT,
    apart: bool = False,
    timeout: float | None = LIMIT_S,
) -> Played:
    """Run a command to its end; its standard error is merged with its output, or kept `apart`."""
    done = subprocess.run(
        argv,
        env=environment,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if apart else subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )
    return Played(done.returncode, done.stdout, done.stderr or "")


def start(
    argv: Sequence[str], environment: Mapping[str, str], stdout: int | IO[str] = subprocess.PIPE
) -> subprocess.Popen[str]:
    """Start a command in a process group of its own, with both of its streams in one."""
    return subprocess.Popen(
        argv,
        env=environment,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
