# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of why a host was not reached: the words of OpenSSH and Ansible, and what to do."""

from __future__ import annotations

import errno
import json
import socket
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._host import require_python
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Silent, read_answers, silent_of
from ansible_collections.muster.train.plugins.plugin_utils._cluster.silence import why_silent
from ansible_collections.muster.train.plugins.plugin_utils._cluster.unreachable import (
    REASONS,
    ConnectionAttempt,
    ReasonKey,
    explain,
    explain_error,
    why,
)
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import line as finding_line

TRIED = ConnectionAttempt("gpu01", "10.0.0.1", 2222, "ann", "inventories/lab/known_hosts.txt", "[10.0.0.1]:2222")
VIA = "Failed to connect to the host via ssh: "
# Messages, verbatim: OpenSSH 9.2 and 9.6, ansible-core 2.19.
MESSAGES = [
    ("name", VIA + "ssh: Could not resolve hostname gpu01: Name or service not known", "/etc/hosts"),
    ("name", VIA + "ssh: Could not resolve hostname gpu01: Temporary failure in name resolution", "DNS"),
    ("port", VIA + "ssh: connect to host 10.0.0.1 port 2222: Connection refused", "start sshd"),
    ("route", VIA + "ssh: connect to host 10.0.0.1 port 2222: No route to host", "ip route get"),
    ("route", VIA + "ssh: connect to host 10.0.0.1 port 2222: Network is unreachable", "ip route get"),
    ("no answer", VIA + "ssh: connect to host 10.0.0.1 port 2222: Connection timed out", "firewall"),
    ("login", VIA + "ann@10.0.0.1: Permission denied (publickey).", "ssh-copy-id ann@10.0.0.1"),
    ("login", VIA + "Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures", "-e user=NAME"),
    (
        "host key",
        VIA + "@@@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @@@ ... Host key verification failed.",
        "ssh-keygen -R '[10.0.0.1]:2222' -f inventories/lab/known_hosts.txt",
    ),
    (
        "host key",
        VIA + "No ED25519 host key is known for [10.0.0.1]:2222 and you have requested strict checking.\r\n"
        "Host key verification failed.",
        "run discover again",
    ),
    ("ssh", VIA + "kex_exchange_identification: Connection closed by remote host", "journalctl"),
    ("ssh", VIA + "Connection reset by 10.0.0.1 port 2222", "journalctl"),
    ("python", "The module interpreter '/usr/bin/python3' was not found.", "install python3"),
    ("python", "MODULE FAILURE\n/bin/sh: 1: /usr/bin/python3: not found", "install python3"),
    (
        "python",
        "ansible-core requires a minimum of Python version 3.8. Current version: 3.6.8 (default, ...)",
        "ansible_python_interpreter",
    ),
    ("python", "SyntaxError: future feature annotations is not defined", "ansible_python_interpreter"),
    (
        "python",
        'File "<stdin>", line 40\n    zip_data: str,\n    ^\nSyntaxError: invalid syntax',
        "ansible_python_interpreter",
    ),
    (
        "python",
        'File "/tmp/x.zip/ansible/module_utils/_internal/__init__.py", line 50\n    def import_controller_module'
        "(_module_name: str, /) -> t.Any:\n  ^\nSyntaxError: invalid syntax",
        "ansible_python_interpreter",
    ),
    ("sudo", "Missing sudo password", "passwordless sudo"),
    ("sudo", "sudo: a password is required", "passwordless sudo"),
    ("sudo", "/bin/sh: 1: sudo: not found", "install sudo"),
    ("sudo", "bash: sudo: command not found", "install sudo"),
    ("sudo", "/bin/sh: 1: sudo: Permission denied", "install sudo"),
    ("sudo", "Premature end of stream waiting for become success.\n>>> Standard Error\nno", "install sudo"),
    ("sudo", "Incorrect sudo password", "type it again"),
    ("sudo", "ann is not in the sudoers file.  This incident will be reported.", "allow it for ann"),
    ("sudo", "Sorry, user ann is not allowed to execute '/bin/sh -c true' as root on gpu01.", "allow it for ann"),
    ("sudo", "sudo: sorry, you must have a tty to run sudo", "allow it for ann"),
    ("sudo", 'sudo: The "no new privileges" flag is set, which prevents sudo from running as root.', "-u root"),
    ("sudo", "Timeout (12s) waiting for privilege escalation prompt: ", "allow it for ann"),
    (
        "home",
        "Failed to create temporary directory. mkdir: cannot create directory: No space left",
        "ansible_remote_tmp",
    ),
    (
        "home",
        "Failed to create temporary directory. In some cases, you may have been able to authenticate ... exited with "
        "result 1, stderr output: mkdir: cannot create directory '/home/ann': Permission denied",
        "ansible_remote_tmp",
    ),
    ("login", VIA + "Invalid/incorrect password: Permission denied, please try again.", "ssh-copy-id ann@10.0.0.1"),
]


@pytest.mark.parametrize(("check", "message", "remedy"), MESSAGES)
def test_the_reason_and_what_to_do(check: str, message: str, remedy: str) -> None:
    finding = why(message, TRIED, "Ansible")
    assert (finding.node, finding.check, finding.status) == ("gpu01", check, "error")
    assert remedy in str(finding.remedy)
    assert all([finding.observed, finding.expected, finding.source])
    assert "{" not in finding_line(finding)


def test_every_reason_has_a_key_of_its_own() -> None:
    assert [reason.key for reason in REASONS] == list(ReasonKey)


@pytest.mark.parametrize("key", ReasonKey)
def test_a_reason_by_its_key(key: ReasonKey) -> None:
    finding = explain(key, TRIED, "this machine's network")
    [reason] = [reason for reason in REASONS if reason.key is key]
    assert (finding.check, finding.status, finding.source) == (reason.check, "error", "this machine's network")
    assert "{" not in finding_line(finding)


def test_a_modules_own_reason_is_a_field_not_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(require_python, "OLDEST_PYTHON", (99, 0))
    with pytest.raises(SystemExit):
        require_python.require_python()
    result = json.loads(capsys.readouterr().out)
    [answer] = read_answers({"gpu01": {"answer": result}}, ["gpu01"], "answer", {})
    assert isinstance(answer, Silent)
    finding = why(answer.message, TRIED, "Ansible", answer.reason_key)
    assert (finding.check, finding.observed) == ("python", "the Python of 10.0.0.1 is too old")
    assert "ansible_python_interpreter" in str(finding.remedy)


def test_only_a_foreign_text_is_a_message() -> None:
    results: dict[str, Any] = {"a": {}, "b": {"answer": {}}, "c": {"answer": {"msg": "Task failed: no route"}}}
    answers = [silent for silent in read_answers(results, results, "answer", {}) if isinstance(silent, Silent)]
    assert [(bool(silent.why), silent.message) for silent in answers] == [(True, ""), (True, ""), (True, "no route")]


def test_a_reason_that_is_not_known_leaves_the_words() -> None:
    assert why("Missing sudo password", TRIED, "Ansible", "other").check == "sudo"


@pytest.mark.parametrize(
    ("error", "check"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, "~"), "port"),
        (OSError(errno.EHOSTUNREACH, "~"), "route"),
        (OSError(errno.ENETUNREACH, "~"), "route"),
        (OSError(errno.EHOSTDOWN, "~"), "route"),
        (TimeoutError(errno.ETIMEDOUT, "~"), "no answer"),
        (TimeoutError("~"), "no answer"),
        (socket.gaierror(socket.EAI_NONAME, "~"), "name"),
        (UnicodeEncodeError("idna", "a..b", 1, 2, "~"), "name"),
        (OSError(errno.EACCES, "Permission denied"), "answer"),
    ],
)
def test_an_error_of_the_controllers_sockets_is_known_by_its_number(error: OSError | UnicodeError, check: str) -> None:
    finding = explain_error(error, TRIED, "this machine's network")
    assert finding.check == check
    assert finding.observed


def test_a_file_that_a_module_may_not_read_is_not_a_matter_of_the_login() -> None:
    finding = why("PermissionError: [Errno 13] Permission denied: '/opt/code'", TRIED, "Ansible")
    assert (finding.check, finding.observed) == ("answer", "PermissionError: [Errno 13] Permission denied: '/opt/code'")


def test_an_unknown_message_is_shown_escaped() -> None:
    finding = why("something\x1b[2J odd\nhappened {user}", TRIED, "Ansible")
    assert finding.check == "answer"
    assert finding.observed == "something odd happened {user}"
    assert "ssh ann@10.0.0.1" in str(finding.remedy)
    assert why("", TRIED, "Ansible").observed == "it did not answer"


def test_without_a_user() -> None:
    finding = why("Permission denied (publickey).", ConnectionAttempt("n", "h", 22, None, "k", "h"), "Ansible")
    assert finding.observed == "this user may not log in to h"


def test_of_a_very_long_message_the_beginning_and_the_end_are_judged() -> None:
    reason = "ssh: connect to host n1 port 22: Connection refused"
    for text in (f"{reason} {'x' * 10**6}", f"{'x' * 10**6} {reason}"):
        silent = silent_of("n1", {"unreachable": True, "msg": text}, "no answer")
        assert len(silent.message) < 10_000
        assert why_silent(silent).expected == "an SSH server"
