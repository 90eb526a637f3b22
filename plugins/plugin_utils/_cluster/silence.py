# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a node of the inventory did not answer, in the words of ssh where they are known."""

from __future__ import annotations

import dataclasses
import re

from .._findings.finding import Finding
from .._text.table import one_line
from . import unreachable
from .node import Silent

# Port, known_hosts file and the host's name in it, in the words of OpenSSH.
_KEYS = re.compile(r"\bkey in (\S+?)(?::[0-9]+)?(?=\s|$)")
_KEY = re.compile(r"\bHost key for (\S+) has changed")
_PORT = re.compile(r"\bport ([0-9]{1,5})\b")
# The host in the words of OpenSSH and of Ansible; the user whom it refuses.
_HOST = re.compile(r"""\b(?:remote host ["']?|connect to host |resolve hostname )([\w.:%-]*\w)""")
_USER = re.compile(r"([^\s@]{1,64})@([^\s@]{1,255}): Permission denied")
# Ansible's introduction of what ssh said.
_SSH = re.compile(r"(?:over|via) ssh: ")


def why_silent(silent: Silent) -> Finding:
    """Return why a node did not answer, what was expected of it, and what to do."""
    # The original text is kept: it names the user and the known_hosts file, which the inventory need not.
    tried = _connection(silent)
    cause = unreachable.why(silent.message, tried, "Ansible", silent.reason_key)
    # Where only the module's traceback says why, the message does not.
    elsewhere = unreachable.is_known(silent.message) and not unreachable.is_known(silent.why, silent.reason_key)
    observed = cause.observed if elsewhere else silent.why
    return dataclasses.replace(cause, check="answer", observed=_words_of_ssh(silent.message) or observed)


def summarize(silent: Silent) -> str:
    """Return why a node did not answer in a few words, for a table; `why_silent` has the rest."""
    if not unreachable.is_known(silent.message):
        return silent.why
    return unreachable.why(silent.message, _connection(silent), "Ansible").observed


def _words_of_ssh(message: str) -> str:
    """Return what ssh said, in one line: the end of it, which says why, without banners and Ansible's introduction."""
    _introduction, *words = _SSH.split(message, maxsplit=1)
    lines = [line for line in "".join(words).splitlines() if line.strip()]
    return one_line(" ".join(lines[-2:]))


def _connection(silent: Silent) -> unreachable.ConnectionAttempt:
    """Return how the node was tried, by what the message says of it."""
    text = silent.message
    port, file, key, user = _PORT.search(text), _KEYS.search(text), _KEY.search(text), _USER.search(text)
    named = _HOST.search(text)
    host = silent.address or (user[2] if user else named[1] if named else silent.name)
    known_hosts = file[1] if file else "~/.ssh/known_hosts"
    return unreachable.ConnectionAttempt(
        silent.name, host, int(port[1]) if port else 22, user[1] if user else None, known_hosts, key[1] if key else host
    )
