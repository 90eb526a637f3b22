# SPDX-License-Identifier: GPL-3.0-or-later
"""The command that a person types to enter a node."""

from __future__ import annotations

import shlex

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._cluster.login import Inside, Login, command, ssh_options

BOX = Inside(["sudo", "-n", "docker"], "muster-r-1")
SHELL = 'exec "${SHELL:-sh}"'
SHELL_INSIDE = "command -v bash >/dev/null && exec bash; exec sh"


def test_a_node_behind_ssh() -> None:
    login = Login("10.0.0.2", port=2222, user="me", key="/home/me/my key", options=["-J", "gate"])
    reach = ["ssh", "-t", "-p", "2222", "-i", "/home/me/my key", "-J", "gate", "me@10.0.0.2"]
    assert command(login, None) == reach
    *words, within = command(login, "/code of mine")
    assert words == reach
    # The shell of the login takes the last word apart again.
    assert shlex.split(within) == ["sh", "-c", f"cd '/code of mine' && {SHELL}"]


def test_a_container_on_it() -> None:
    assert shlex.split(command(Login("n2"), "/code", BOX)[-1]) == [
        *("sudo", "-n", "docker", "exec", "--interactive", "--tty", "--workdir", "/code", "muster-r-1"),
        *("sh", "-c", SHELL_INSIDE),
    ]
    inside = ["docker", "exec", "--interactive", "--tty", "c", "sh", "-c", SHELL_INSIDE]
    assert command(Login("n2", local=True), None, Inside(["docker"], "c")) == inside


def test_another_user() -> None:
    assert command(Login("n2", become_user="root"), None) == ["ssh", "-t", "n2", f"sudo -u root sh -c '{SHELL}'"]
    assert command(Login("n2", become_user="root"), "/code", BOX)[-1].startswith("sudo -u root sudo -n docker exec ")


def test_this_machine() -> None:
    assert command(Login("n2", local=True), "/code") == ["sh", "-c", f"cd /code && {SHELL}"]
    assert command(Login("n2", local=True), None) == ["sh", "-c", SHELL]


def test_options_for_many_connections_are_left_out() -> None:
    of_ansible = "-C -o ControlMaster=auto -oControlPersist=60s -o ServerAliveInterval=15"
    assert ssh_options([of_ansible, "-F none -o 'ProxyCommand=ssh -W %h:%p gate' -oPort=22", ""]) == [
        *("-F", "none", "-o", "ProxyCommand=ssh -W %h:%p gate", "-o", "Port=22")
    ]
    assert ssh_options([], check_host_keys=False) == ["-o", "StrictHostKeyChecking=no"]
    with pytest.raises(ValueError, match="quotation"):
        ssh_options(["-o 'x"])
