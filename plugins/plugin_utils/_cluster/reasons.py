# SPDX-License-Identifier: GPL-3.0-or-later
"""The reasons why a host is not reached: their keys, their texts, and the messages of other programs about them.

The patterns match OpenSSH 8.0 to 9.9, ansible-core 2.19, Slurm 22.05 and kubectl 1.20. They never see a text of
Muster's, which names its reason by the key.
"""

from __future__ import annotations

import enum

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.oldest_python import EXPECTED_PYTHON


class ReasonKey(enum.StrEnum):
    """A reason why a host is not reached, for code; a module of Muster sends the value."""

    NO_CONTAINER = "no_container"
    UNKNOWN_NAME = "unknown_name"
    CHANGED_HOST_KEY = "changed_host_key"
    UNKNOWN_HOST_KEY = "unknown_host_key"
    CLOSED_PORT = "closed_port"
    NO_ROUTE = "no_route"
    WRONG_SUDO_PASSWORD = "wrong_sudo_password"
    NO_SUDO = "no_sudo"
    UNUSABLE_SUDO = "unusable_sudo"
    NO_LOGIN = "no_login"
    NO_SHELL = "no_shell"
    OLD_PYTHON = "old_python"
    NO_PYTHON = "no_python"
    NO_ANSWER = "no_answer"
    CLOSED_CONNECTION = "closed_connection"
    NO_HOME = "no_home"
    NO_ALLOCATION = "no_allocation"
    NO_SRUN = "no_srun"


@frozen
class Reason:
    """The texts of a reason: `check` is its name for people, `pattern` matches foreign messages about it."""

    key: ReasonKey
    check: str
    pattern: str
    observed: str
    expected: str
    remedy: str


# The first match counts: messages about the host key and about sudo also have "Permission denied", for example.
REASONS = (
    Reason(
        ReasonKey.NO_CONTAINER,
        "pod",
        # kubectl 1.20: the pod is gone, ends, waits or has ended, or its kubelet does not answer the API server.
        r"unable to upgrade connection|error dialing backend|\bpods \S+ not found|does not have a host assigned"
        r"|cannot exec (?:into|in) a container|container not found",
        "no container runs in the pod of {host}",
        "a pod that runs, on a node that is ready",
        "see what Kubernetes says of it (kubectl describe pod); a StatefulSet makes a pod that was deleted again",
    ),
    Reason(
        ReasonKey.UNKNOWN_NAME,
        "name",
        r"could not resolve hostname|name or service not known|nodename nor servname|name resolution"
        r"|no address associated|invalid hostname",
        "the name {host} does not resolve on this machine",
        "a name that resolves",
        "correct it, use the address instead, or add it to DNS or /etc/hosts",
    ),
    Reason(
        ReasonKey.CHANGED_HOST_KEY,
        "host key",
        r"identification has changed|offending \S+ key|revoked",
        "{host} presents a different host key from the known one",
        "the known key: the machine was reinstalled, or this is another machine",
        "compare the fingerprint on its console (ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub), then remove the "
        "old key with ssh-keygen -R {where} -f {known_hosts}",
    ),
    Reason(
        ReasonKey.UNKNOWN_HOST_KEY,
        "host key",
        r"host key verification failed|no \S+ host key is known|no matching host key type",
        "the host key of {host} is not known, or not the known one",
        "a key that is in {known_hosts}",
        "connect once with ssh and accept the key, or run discover again; if the message stays, another machine "
        "answers in the host's place",
    ),
    Reason(
        ReasonKey.CLOSED_PORT,
        "port",
        r"connection refused",
        "nothing listens on port {port} of {host}",
        "an SSH server",
        "start sshd there, or set its port (ansible_port; for discover, {host}:PORT)",
    ),
    Reason(
        ReasonKey.NO_ROUTE,
        "route",
        r"no route to host|network is unreachable|host is down|host is unreachable",
        "there is no route to {host}",
        "a host that this machine reaches",
        "check that it is powered on and that this machine has a route to its network (ip route get ADDRESS)",
    ),
    Reason(
        ReasonKey.WRONG_SUDO_PASSWORD,
        "sudo",
        r"incorrect \S+ password|sorry, try again",
        "{host} does not accept the password with which {user} becomes root",
        "the right password",
        "type it again (--ask-become-pass), or correct ansible_become_password",
    ),
    Reason(
        ReasonKey.NO_SUDO,
        "sudo",
        r"missing (sudo|become) password|sudo: .*password is required",
        "{user} cannot become root on {host} without a password",
        "sudo without a password",
        "give {user} passwordless sudo there, or add --ask-become-pass",
    ),
    Reason(
        ReasonKey.UNUSABLE_SUDO,
        "sudo",
        r"sudo\S*: (?:command )?not found|sudo\S*: permission denied|sudo\S*: no such file"
        r"|is not in the sudoers file|is not allowed to (?:execute|run sudo)|may not run sudo"
        r"|sudo: (?:sorry, you must have a tty|no tty present|a terminal is required)"
        r"|sudo: (?:effective uid is not 0|the .no new privileges. flag)"
        r"|premature end of stream waiting for become success|waiting for privilege escalation prompt",
        "{user} cannot run sudo on {host}",
        "sudo, with which this user becomes root",
        "install sudo there and allow it for {user}, or log in as root (-u root)",
    ),
    Reason(
        ReasonKey.NO_LOGIN,
        "login",
        # In the words of ssh: a module's own PermissionError is none.
        r"permission denied(?: \(|, please)|too many authentication failures|no supported authentication methods",
        "{user} may not log in to {host}",
        "a login by key",
        "install your public key there (ssh-copy-id {login}), or set another user (ansible_user; for discover, "
        "-e user=NAME)",
    ),
    Reason(
        ReasonKey.NO_SHELL,
        "login",
        r"this account is (?:currently )?not available",
        "{user} has no shell on {host}",
        "a user that can run commands",
        "set another user (ansible_user; for discover, -e user=NAME)",
    ),
    Reason(
        ReasonKey.OLD_PYTHON,
        "python",
        r"requires a minimum of python|future feature annotations is not defined|python 2\."
        # Ansible's own code, which an interpreter that is older than Ansible allows cannot read.
        r'|(?:<stdin>|AnsiballZ_\w+\.py|ansible/module_utils/[^"\s]*)", line [0-9]+\s'
        r"(?s:.{1,300}?)SyntaxError: invalid syntax",
        "the Python of {host} is too old",
        EXPECTED_PYTHON,
        "install python3 there, or name a newer one with ansible_python_interpreter",
    ),
    Reason(
        ReasonKey.NO_PYTHON,
        "python",
        r"python\S*: (command )?not found|python\S*: no such file|interpreter \S+ was not found"
        r"|no python interpreters? found|set the interpreter|/usr/bin/env: .?python",
        "no Python was found on {host}",
        EXPECTED_PYTHON,
        "install python3 there, or name it with ansible_python_interpreter",
    ),
    Reason(
        ReasonKey.NO_ANSWER,
        "no answer",
        r"timed out|timeout",
        "{host} port {port} does not answer",
        "an answer within seconds",
        "check that it is powered on, and that no firewall drops packets from this machine",
    ),
    Reason(
        ReasonKey.CLOSED_CONNECTION,
        "ssh",
        r"connection (closed|reset)|kex_exchange_identification|banner exchange|broken pipe",
        "{host} closes the connection before a login",
        "an SSH server that accepts this connection",
        "look at its log (journalctl -u ssh): too many connections at once, or not SSH on port {port}",
    ),
    Reason(
        ReasonKey.NO_HOME,
        "home",
        r"failed to create temporary directory|no space left on device|read-only file system",
        "Ansible cannot write its temporary files on {host}",
        "a writable home directory",
        "free space, or create a home for {user}, or set ansible_remote_tmp",
    ),
    Reason(
        ReasonKey.NO_ALLOCATION,
        "allocation",
        # srun 22.05: the job has ended, was never there, or does not have the node.
        r"srun: error: (?:unable to (?:confirm allocation|create step) for job|.*job/step already completing)",
        "{host} is not a node of the Slurm job, or the job has ended",
        "a node of a job that runs",
        "give a job that runs (squeue --me, MUSTER_SLURM_JOB_ID); runs of a job that has ended can be read where the "
        "work directory is shared, with MUSTER_SLURM_CONNECTION=local",
    ),
    Reason(
        ReasonKey.NO_SRUN,
        "srun",
        r"srun was not found on this machine",
        "this machine does not have srun, by which {host} is reached",
        "the commands of Slurm",
        "run this on a login node of the cluster, or install its client (Debian: apt install slurm-client)",
    ),
)
