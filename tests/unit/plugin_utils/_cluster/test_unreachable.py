# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of why a host was not reached: the words of OpenSSH and Ansible, and what to do."""

from __future__ import annotations

import errno
import json
import socket
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._host import require_python
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Silent, read_answers, silent_of
from ansible_collections.muster.train.plugins.plugin_utils._cluster.reasons import REASONS, ReasonKey
from ansible_collections.muster.train.plugins.plugin_utils._cluster.silence import why_silent
from ansible_collections.muster.train.plugins.plugin_utils._cluster.unreachable import (
    ConnectionAttempt,
    explain,
    explain_error,
    why,
)
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import line as finding_line

TRIED = ConnectionAttempt("gpu01", "10.0.0.1", 2222, "ann", "inventories/lab/known_hosts.txt", "[10.0.0.1]:2222")
VIA = "Failed to connect to the host via ssh: "
# Messages, verbatim: OpenSSH 9.2 and 9.6, ansible-core 2.19.
MESSAGES = [
    (ReasonKey.UNKNOWN_NAME, VIA + "ssh: Could not resolve hostname gpu01: Name or service not known"),
    (ReasonKey.UNKNOWN_NAME, VIA + "ssh: Could not resolve hostname gpu01: Temporary failure in name resolution"),
    (ReasonKey.CLOSED_PORT, VIA + "ssh: connect to host 10.0.0.1 port 2222: Connection refused"),
    (ReasonKey.NO_ROUTE, VIA + "ssh: connect to host 10.0.0.1 port 2222: No route to host"),
    (ReasonKey.NO_ROUTE, VIA + "ssh: connect to host 10.0.0.1 port 2222: Network is unreachable"),
    (ReasonKey.NO_ANSWER, VIA + "ssh: connect to host 10.0.0.1 port 2222: Connection timed out"),
    (ReasonKey.NO_LOGIN, VIA + "ann@10.0.0.1: Permission denied (publickey)."),
    (ReasonKey.NO_LOGIN, VIA + "Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures"),
    (ReasonKey.NO_LOGIN, VIA + "Invalid/incorrect password: Permission denied, please try again."),
    (
        ReasonKey.CHANGED_HOST_KEY,
        VIA + "@@@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @@@ ... Host key verification failed.",
    ),
    (
        ReasonKey.UNKNOWN_HOST_KEY,
        VIA + "No ED25519 host key is known for [10.0.0.1]:2222 and you have requested strict checking.\r\n"
        "Host key verification failed.",
    ),
    (ReasonKey.NO_CONTAINER, 'error: unable to upgrade connection: container not found ("trainer")'),
    (ReasonKey.NO_CONTAINER, 'Error from server (NotFound): pods "trainer-1" not found'),
    (
        ReasonKey.NO_CONTAINER,
        "Error from server: error dialing backend: dial tcp 192.0.2.1:10250: connect: connection refused",
    ),
    (ReasonKey.NO_CONTAINER, "Error from server (BadRequest): pod trainer-1 does not have a host assigned"),
    (
        ReasonKey.NO_CONTAINER,
        "error: cannot exec into a container in a completed pod; current phase is Failed",
    ),
    (ReasonKey.CLOSED_CONNECTION, VIA + "kex_exchange_identification: Connection closed by remote host"),
    (ReasonKey.CLOSED_CONNECTION, VIA + "Connection reset by 10.0.0.1 port 2222"),
    (ReasonKey.NO_PYTHON, "The module interpreter '/usr/bin/python3' was not found."),
    (ReasonKey.NO_PYTHON, "MODULE FAILURE\n/bin/sh: 1: /usr/bin/python3: not found"),
    (
        ReasonKey.OLD_PYTHON,
        "ansible-core requires a minimum of Python version 3.8. Current version: 3.6.8 (default, ...)",
    ),
    (ReasonKey.OLD_PYTHON, "SyntaxError: future feature annotations is not defined"),
    (ReasonKey.OLD_PYTHON, 'File "<stdin>", line 40\n    zip_data: str,\n    ^\nSyntaxError: invalid syntax'),
    (
        ReasonKey.OLD_PYTHON,
        'File "/tmp/x.zip/ansible/module_utils/_internal/__init__.py", line 50\n    def import_controller_module'
        "(_module_name: str, /) -> t.Any:\n  ^\nSyntaxError: invalid syntax",
    ),
    (ReasonKey.NO_SUDO, "Missing sudo password"),
    (ReasonKey.NO_SUDO, "sudo: a password is required"),
    (ReasonKey.WRONG_SUDO_PASSWORD, "Incorrect sudo password"),
    (ReasonKey.UNUSABLE_SUDO, "/bin/sh: 1: sudo: not found"),
    (ReasonKey.UNUSABLE_SUDO, "bash: sudo: command not found"),
    (ReasonKey.UNUSABLE_SUDO, "/bin/sh: 1: sudo: Permission denied"),
    (ReasonKey.UNUSABLE_SUDO, "Premature end of stream waiting for become success.\n>>> Standard Error\nno"),
    (ReasonKey.UNUSABLE_SUDO, "ann is not in the sudoers file.  This incident will be reported."),
    (ReasonKey.UNUSABLE_SUDO, "Sorry, user ann is not allowed to execute '/bin/sh -c true' as root on gpu01."),
    (ReasonKey.UNUSABLE_SUDO, "sudo: sorry, you must have a tty to run sudo"),
    (ReasonKey.UNUSABLE_SUDO, 'sudo: The "no new privileges" flag is set, which prevents sudo from running as root.'),
    (ReasonKey.UNUSABLE_SUDO, "Timeout (12s) waiting for privilege escalation prompt: "),
    (
        ReasonKey.NO_ALLOCATION,
        "srun: error: Unable to confirm allocation for job 99: Invalid job id specified",
    ),
    (
        ReasonKey.NO_ALLOCATION,
        "srun: error: Unable to create step for job 2: Requested node configuration is not available",
    ),
    (ReasonKey.NO_SRUN, "srun was not found on this machine"),
    (ReasonKey.NO_HOME, "Failed to create temporary directory. mkdir: cannot create directory: No space left"),
    (
        ReasonKey.NO_HOME,
        "Failed to create temporary directory. In some cases, you may have been able to authenticate ... exited with "
        "result 1, stderr output: mkdir: cannot create directory '/home/ann': Permission denied",
    ),
]


@pytest.mark.parametrize(("key", "message"), MESSAGES)
def test_the_reason_of_a_message(key: ReasonKey, message: str) -> None:
    finding = why(message, TRIED, "Ansible")
    assert (finding.node, finding.status) == ("gpu01", "error")
    assert finding == explain(key, TRIED, "Ansible")


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
    assert finding == explain(ReasonKey.OLD_PYTHON, TRIED, "Ansible")


def test_only_a_foreign_text_is_a_message() -> None:
    results: dict[str, Any] = {"a": {}, "b": {"answer": {}}, "c": {"answer": {"msg": "Task failed: no route"}}}
    answers = [silent for silent in read_answers(results, results, "answer", {}) if isinstance(silent, Silent)]
    assert [(bool(silent.why), silent.message) for silent in answers] == [(True, ""), (True, ""), (True, "no route")]


def test_a_reason_that_is_not_known_leaves_the_words() -> None:
    words = "Missing sudo password"
    assert why(words, TRIED, "Ansible", "other") == why(words, TRIED, "Ansible")


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


# The words of whatever has no reason of Muster's are shown; a file that a module may not read is not about the login.
UNKNOWN = ("PermissionError: [Errno 13] Permission denied: '/opt/code'", "something\x1b[2J odd\nhappened {user}", "")


@pytest.mark.parametrize("message", UNKNOWN)
def test_an_unknown_message_is_shown_escaped(message: str) -> None:
    finding = why(message, TRIED, "Ansible")
    assert finding.check == "answer"
    assert finding.observed.isprintable() and clean(message) in finding.observed


NOBODY = ConnectionAttempt("n", "h", 22, None, "k", "h")


def test_without_a_user() -> None:
    assert "None" not in finding_line(why("Permission denied (publickey).", NOBODY, "Ansible"))


def test_of_a_very_long_message_the_beginning_and_the_end_are_judged() -> None:
    reason = "ssh: connect to host n1 port 22: Connection refused"
    for text in (f"{reason} {'x' * 10**6}", f"{'x' * 10**6} {reason}"):
        silent = silent_of("n1", {"unreachable": True, "msg": text}, "no answer")
        assert len(silent.message) < 10_000
        assert why_silent(silent).expected == explain(ReasonKey.CLOSED_PORT, TRIED, "Ansible").expected
