# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a host was not reached, out of what ssh, Ansible and the controller's sockets say.

The words are those of OpenSSH 8.0 to 9.9 and of ansible-core 2.19; what nothing here knows is shown as it was said.
"""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass

from .._findings.finding import Finding
from .._text.table import one_line


@dataclass(frozen=True)
class Reason:
    """One way not to be reached: `check` is the word for it, `says` how the others tell of it."""

    check: str
    says: re.Pattern[str]
    observed: str
    expected: str
    remedy: str


def _reason(check: str, says: str, observed: str, expected: str, remedy: str) -> Reason:
    return Reason(check, re.compile(says, re.IGNORECASE), observed, expected, remedy)


NAME, ROUTE, PORT, TIMEOUT = "name", "route", "port", "no answer"
# The first that fits: what is said of the host key comes with "Permission denied" behind it, and the like.
REASONS = (
    _reason(
        NAME,
        r"could not resolve hostname|name or service not known|nodename nor servname|name resolution"
        r"|no address associated|invalid hostname",
        "the name {host} does not resolve on this machine",
        "a name with an address",
        "correct it, give the address instead, or add it to DNS or /etc/hosts",
    ),
    _reason(
        "host key",
        r"identification has changed|offending \S+ key|revoked",
        "{host} shows another host key than the one that is known",
        "the known one: the machine was installed anew, or this is another machine",
        "compare the fingerprint on its console (ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub), then take the old "
        "one out with ssh-keygen -R {where} -f {known_hosts}",
    ),
    _reason(
        "host key",
        r"host key verification failed|no \S+ host key is known|no matching host key type",
        "the host key of {host} is not the one that was collected",
        "a key that is in {known_hosts}",
        "run discover again; if it stays, somebody answers in the host's place",
    ),
    _reason(
        PORT,
        r"connection refused",
        "nothing listens on port {port} of {host}",
        "an SSH server",
        "start sshd there, or give its port (ansible_port; to discover {host}:PORT)",
    ),
    _reason(
        ROUTE,
        r"no route to host|network is unreachable|host is down|host is unreachable",
        "no way leads to {host}",
        "a host that this machine reaches",
        "see that it is on and that this machine is in its network (ip route get ADDRESS)",
    ),
    _reason(
        "login",
        r"permission denied|too many authentication failures|no supported authentication methods",
        "{user} may not log in to {host}",
        "a login by key",
        "install your public key there (ssh-copy-id {login}), or give another user (ansible_user; to discover "
        "-e user=NAME)",
    ),
    _reason(
        "python",
        r"requires a minimum of python|nodes need python|future feature annotations is not defined|python 2\.",
        "the Python of {host} is too old",
        "Python 3.9 or newer",
        "install python3 there, or name a newer one with ansible_python_interpreter",
    ),
    _reason(
        "python",
        r"python\S*: (command )?not found|python\S*: no such file|interpreter \S+ was not found"
        r"|no python interpreters? found|set the interpreter|/usr/bin/env: .?python",
        "no Python was found on {host}",
        "Python 3.9 or newer",
        "install python3 there, or name it with ansible_python_interpreter",
    ),
    _reason(
        "sudo",
        r"missing (sudo|become) password|sudo: .*password is required|incorrect (sudo|become) password",
        "{user} does not become root on {host} without a password",
        "sudo without a password",
        "give {user} passwordless sudo there, or add --ask-become-pass",
    ),
    _reason(
        TIMEOUT,
        r"timed out|timeout",
        "{host} port {port} does not answer",
        "an answer within seconds",
        "see that it is on, and that no firewall drops what comes from here",
    ),
    _reason(
        "ssh",
        r"connection (closed|reset)|kex_exchange_identification|banner exchange|broken pipe",
        "{host} ends the connection before a login",
        "an SSH server that takes this connection",
        "look at its log (journalctl -u ssh): too many connections at once, or not SSH on port {port}",
    ),
    _reason(
        "home",
        r"failed to create temporary directory|no space left on device|read-only file system",
        "Ansible cannot write its temporary files on {host}",
        "a home directory that can be written",
        "make room or a home for {user} there, or set ansible_remote_tmp",
    ),
)
ERRNOS = {
    errno.ECONNREFUSED: "connection refused",
    errno.EHOSTUNREACH: "no route to host",
    errno.ENETUNREACH: "network is unreachable",
    errno.EHOSTDOWN: "host is down",
    errno.ETIMEDOUT: "timed out",
}


@dataclass(frozen=True)
class Tried:
    """What was tried: the node, its host, port and user, and where its key would be known."""

    node: str
    host: str
    port: int
    user: str | None
    known_hosts: str
    where: str


def why(said: str, tried: Tried, source: str) -> Finding:
    """Return the finding for what ssh or Ansible said; source is who said it."""
    words = {
        "host": tried.host,
        "port": str(tried.port),
        "user": tried.user or "this user",
        "login": f"{tried.user}@{tried.host}" if tried.user else tried.host,
        "known_hosts": tried.known_hosts,
        "where": f"'{tried.where}'" if "[" in tried.where else tried.where,
    }
    for reason in REASONS:
        if reason.says.search(said):
            texts = (text.format(**words) for text in (reason.observed, reason.expected, reason.remedy))
            return _finding(tried.node, reason.check, *texts, source=source)
    shown = one_line(said) or "it did not answer"
    return _finding(tried.node, "facts", shown, "its facts", f"try it: ssh {words['login']}", source=source)


def _finding(node: str, check: str, observed: str, expected: str, remedy: str, *, source: str) -> Finding:
    return Finding(check, node, "error", observed, expected, source, remedy)
