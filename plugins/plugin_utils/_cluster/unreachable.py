# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a host was not reached: by a key that Muster knows, or from the messages of other programs.

A message that matches none of the patterns is shown as it is.
"""

from __future__ import annotations

import errno
import re
import shlex
import socket

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .._findings.finding import Finding
from .._text.table import one_line
from .reasons import REASONS, Reason, ReasonKey

# The checks of a host that is reached, which a module of Muster never fails for, unless it names the reason's key.
ABOUT_MODULES = ("login", "sudo", "python", "pod")
ERRNOS = {
    errno.ECONNREFUSED: ReasonKey.CLOSED_PORT,
    errno.EHOSTUNREACH: ReasonKey.NO_ROUTE,
    errno.ENETUNREACH: ReasonKey.NO_ROUTE,
    errno.EHOSTDOWN: ReasonKey.NO_ROUTE,
}


@frozen
class ConnectionAttempt:
    """A connection attempt: the node, its host, port and user; the known_hosts file and the name in it."""

    node: str
    host: str
    port: int
    user: str | None
    known_hosts: str
    key_name: str


def why(message: str, tried: ConnectionAttempt, source: str, key: str | None = None) -> Finding:
    """Return the finding for a foreign message; source is the program that wrote it, key the one a module named."""
    reason = _reason(message, key)
    return _unknown(message, tried, source) if reason is None else _finding(reason, tried, source)


def is_known(message: str, key: str | None = None) -> bool:
    """Return whether `why` recognizes the reason."""
    return _reason(message, key) is not None


def is_about_modules(message: str, key: str | None = None) -> bool:
    """Return whether a message says why no module runs on a host that is reached: its shell, sudo or Python."""
    reason = _reason(message, key)
    return reason is not None and reason.check in ABOUT_MODULES


def is_about_root(message: str) -> bool:
    """Return whether a message says that the login is possible, but not to become root."""
    reason = _reason(message, None)
    return reason is not None and reason.check == "sudo"


def why_not_root(message: str, tried: ConnectionAttempt, source: str) -> Finding:
    """Return the finding for a become that failed, whatever its message is."""
    return why(message, tried, source) if is_about_root(message) else explain(ReasonKey.UNUSABLE_SUDO, tried, source)


def _reason(message: str, key: str | None) -> Reason | None:
    named = (reason for reason in REASONS if reason.key == key)
    matching = (reason for reason in REASONS if re.search(reason.pattern, message, re.IGNORECASE))
    return next(named, None) or next(matching, None)


def explain(key: ReasonKey, tried: ConnectionAttempt, source: str) -> Finding:
    """Return the finding for a reason that is known by its key."""
    return _finding(next(reason for reason in REASONS if reason.key is key), tried, source)


def explain_error(error: OSError | UnicodeError, tried: ConnectionAttempt, source: str) -> Finding:
    """Return the finding for an error of this machine's resolver or sockets, known by its type and number."""
    if isinstance(error, (socket.gaierror, UnicodeError)):
        return explain(ReasonKey.UNKNOWN_NAME, tried, source)
    key = ReasonKey.NO_ANSWER if isinstance(error, TimeoutError) else ERRNOS.get(error.errno or 0)
    return _unknown(str(error), tried, source) if key is None else explain(key, tried, source)


def _finding(reason: Reason, tried: ConnectionAttempt, source: str) -> Finding:
    words = {
        "host": tried.host,
        "port": str(tried.port),
        "user": tried.user or "this user",
        "login": _login(tried),
        "known_hosts": tried.known_hosts,
        "where": shlex.quote(tried.key_name),
    }
    observed, expected, remedy = (text.format(**words) for text in (reason.observed, reason.expected, reason.remedy))
    return Finding(reason.check, tried.node, "error", observed, expected, source, remedy)


def _unknown(message: str, tried: ConnectionAttempt, source: str) -> Finding:
    observed, remedy = one_line(message) or "it did not answer", f"try it: ssh {_login(tried)}"
    return Finding("answer", tried.node, "error", observed, "an answer", source, remedy)


def _login(tried: ConnectionAttempt) -> str:
    return f"{tried.user}@{tried.host}" if tried.user else tried.host
