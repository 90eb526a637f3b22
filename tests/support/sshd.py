# SPDX-License-Identifier: GPL-3.0-or-later
"""An sshd of the tests' own: its own port, host key, login key and home; loopback addresses are its hosts."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.tests.support.jobs import wait_for

ADDRESSES = ("127.0.1.1", "127.0.1.2")
CONFIG = """\
ListenAddress 127.0.1.1:{port}
ListenAddress 127.0.1.2:{port}
HostKey {base}/host_key
AuthorizedKeysFile {base}/login_key.pub
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
MaxStartups 100
SetEnv HOME={home}
Subsystem sftp {sftp}
"""


@dataclass(frozen=True)
class Sshd:
    """A running sshd. Its sessions have an empty home: what Ansible leaves there disturbs no one."""

    base: Path
    port: int

    @property
    def home(self) -> Path:
        """The home of every session."""
        return self.base / "home"

    def policy(self) -> dict[str, Any]:
        """Return the variables by which an inventory reaches its hosts; host keys are checked."""
        options = ["-F", "none", "-o", f"UserKnownHostsFile={self.base}/known_hosts", "-o", "IdentitiesOnly=yes"]
        return {
            "ansible_connection": "ssh",
            "ansible_port": self.port,
            "ansible_user": getpass.getuser(),
            "ansible_ssh_private_key_file": str(self.base / "login_key"),
            "ansible_ssh_common_args": " ".join([*options, "-o", "StrictHostKeyChecking=yes"]),
            "ansible_control_path_dir": str(self.base / "cp"),
        }

    def per_node(self) -> dict[str, dict[str, Any]]:
        """Return the address of each node."""
        return {f"node{rank}": {"ansible_host": address} for rank, address in enumerate(ADDRESSES)}


def missing() -> str | None:
    """Return why there can be no sshd here."""
    absent = [name for name in ("sshd", "ssh", "ssh-keygen") if find(name) is None]
    return f"{', '.join(absent)} not found: apt install openssh-server openssh-client" if absent else None


def find(name: str) -> str | None:
    """Return where a command is; sshd is not in everybody's PATH."""
    return shutil.which(name, path=os.pathsep.join((os.environ["PATH"], "/usr/sbin", "/sbin")))


@contextlib.contextmanager
def running(base: Path, sftp: str = "internal-sftp") -> Iterator[Sshd]:
    """Run an sshd whose files are in `base` (a short path: sockets lie below it).

    sftp is its own server, which no shell starts, or the path of one that the login's shell starts.
    """
    sshd = Sshd(base, _free_port())
    for directory in (sshd.home, base / "cp"):
        directory.mkdir(mode=0o700)
    for name in ("host_key", "login_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(base / name)], check=True)
    host_key = (base / "host_key.pub").read_text()
    (base / "known_hosts").write_text("".join(f"[{address}]:{sshd.port} {host_key}" for address in ADDRESSES))
    (base / "sshd_config").write_text(CONFIG.format(base=base, port=sshd.port, home=sshd.home, sftp=sftp))
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where sshd separates its privileges
    # sshd starts itself again for each connection, and wants to be called by its full path.
    server = subprocess.Popen([str(find("sshd")), "-D", "-f", str(base / "sshd_config"), "-E", str(base / "sshd.log")])
    try:
        wait_for(lambda: all(_listens(address, sshd.port) for address in ADDRESSES), "sshd listens")
        yield sshd
    finally:
        # The connections that Ansible keeps open, then the server with its sessions.
        for process in process_tree.every():
            if str(base / "cp") in command_line(process.pid):
                process_tree.send(process, signal.SIGTERM)
        for process in [*process_tree.descendants(server.pid), *filter(None, [process_tree.look(server.pid)])]:
            process_tree.send(process, signal.SIGTERM)
        server.wait(30)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((ADDRESSES[0], 0))
        return int(probe.getsockname()[1])


def _listens(address: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((address, port)) == 0


def command_line(pid: int | str) -> str:
    """Return the command line of a process as everybody on the machine can read it, empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""
