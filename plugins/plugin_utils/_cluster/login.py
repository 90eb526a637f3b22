# SPDX-License-Identifier: GPL-3.0-or-later
"""The command that a person types to enter a node, or a container on it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen

LOCAL = ("local", "ansible.builtin.local", "ansible.legacy.local")
SSH = tuple(
    f"{collection}{name}"
    for collection in ("", "ansible.builtin.", "ansible.legacy.")
    for name in ("ssh", "smart", "paramiko", "paramiko_ssh")
)
SRUN = "muster.train.srun"
SHELL = 'exec "${SHELL:-sh}"'
SHELL_INSIDE = "command -v bash >/dev/null && exec bash; exec sh"
# Options of ssh that serve many short connections, and mean nothing to a single one.
_OF_ANSIBLE = ("control", "serveralive")


@frozen
class Login:
    """How Ansible reaches a node: by SSH, unless it is this machine; become_user is who it becomes there.

    step is what begins a command on this machine that runs on the node: a step of Slurm, or kubectl exec; or empty.
    """

    host: str
    local: bool = False
    step: list[str] = field(default_factory=list)
    program: str = "ssh"
    port: int | None = None
    user: str | None = None
    key: str | None = None
    options: list[str] = field(default_factory=list)
    become_user: str | None = None


@frozen
class Inside:
    """A container on the node: docker is how Docker is called there."""

    docker: Sequence[str]
    name: str


def ssh_options(texts: Iterable[str], check_host_keys: bool = True) -> list[str]:
    """Return the options for ssh out of Ansible's settings, without those for its own use; may raise ValueError."""
    words = [word for text in texts for word in shlex.split(text)]
    kept: list[str] = []
    while words:
        word = words.pop(0)
        if word == "-o" and words:
            word += words.pop(0)
        if word.startswith("-o") and not word[2:].lower().startswith(_OF_ANSIBLE):
            kept += ["-o", word[2:]]
        elif not word.startswith("-o") and word != "-C":
            kept.append(word)
    return kept if check_host_keys else [*kept, "-o", "StrictHostKeyChecking=no"]


def command(login: Login, directory: str | None, inside: Inside | None = None) -> list[str]:
    """Return the words of the command; directory: where the shell begins, None for the user's home."""
    if inside is not None:
        workdir = ["--workdir", directory] if directory else []
        within = [
            *_become(login),
            *inside.docker,
            "exec",
            "--interactive",
            "--tty",
            *workdir,
            inside.name,
            "sh",
            "-c",
            SHELL_INSIDE,
        ]
    elif directory or login.become_user:
        enter = f"cd {shlex.quote(directory)} && " if directory else ""
        within = [*_become(login), "sh", "-c", f"{enter}{SHELL}"]
    else:
        within = ["sh", "-c", SHELL] if login.local else []
    return [*login.step, *within] if login.local else [*_ssh(login), *([shlex.join(within)] if within else [])]


def _become(login: Login) -> list[str]:
    return [] if login.become_user is None else ["sudo", "-u", login.become_user]


def _ssh(login: Login) -> list[str]:
    where = f"{login.user}@{login.host}" if login.user else login.host
    port = [] if login.port is None else ["-p", str(login.port)]
    key = [] if login.key is None else ["-i", login.key]
    return [login.program, "-t", *port, *key, *login.options, where]
