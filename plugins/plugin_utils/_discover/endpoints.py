# SPDX-License-Identifier: GPL-3.0-or-later
"""Where ssh finds new hosts from this machine, which keys they offer, and why one cannot be contacted."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .._cluster import unreachable
from .._cluster.reasons import ReasonKey
from .._cluster.unreachable import ConnectionAttempt
from .._findings.errors import UserError
from .._findings.finding import Finding
from .._request.host_list import SSH_PORT, Target
from . import host_keys
from .host_keys import HostKey

PATIENCE_S = 5
# Runs a command within some seconds; returns its standard output, None if it is not installed.
CommandRunner = Callable[[Sequence[str], float], str | None]


@frozen
class Endpoint:
    """Where ssh finds a host from this machine, and whether a connection to its port succeeded."""

    target: Target
    hostname: str
    port: int
    user: str | None
    where: str
    address: str | None = None
    error: OSError | UnicodeError | None = None  # why it could not be reached
    scanned: bool = True  # False: behind a jump host, where ssh-keyscan does not go

    def attempt(self, known_hosts: str) -> ConnectionAttempt:
        """Return what a connection by ssh tries, with the keys in this file."""
        return ConnectionAttempt(self.target.name, self.hostname, self.port, self.user, known_hosts, self.where)


def look_up(target: Target, run: CommandRunner) -> Endpoint:
    """Ask ssh how it would reach a host, and try to connect to its port."""
    options = ["-p", str(target.port)] if target.port else []
    options += ["-l", target.user] if target.user else []
    settings = host_keys.parse_settings(run(["ssh", "-G", *options, target.host], PATIENCE_S) or "")
    hostname, port = settings.get("hostname", target.host), int(settings.get("port", target.port or SSH_PORT))
    where = settings.get("hostkeyalias", "").lower() or host_keys.where(hostname, port)
    endpoint = Endpoint(target, hostname, port, settings.get("user", target.user), where)
    if "proxyjump" in settings or "proxycommand" in settings:
        return replace(endpoint, scanned=False)
    address, error = connect(hostname, port)
    return replace(endpoint, address=address, error=error)


def connect(hostname: str, port: int) -> tuple[str | None, OSError | UnicodeError | None]:
    """Try a port; return the address that answered and None, or an address that did not and its error."""
    try:
        addresses = socket.getaddrinfo(hostname, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return None, error
    failure: OSError | None = None
    for family, kind, protocol, _name, place in addresses:
        with socket.socket(family, kind, protocol) as probe:
            probe.settimeout(PATIENCE_S)
            try:
                probe.connect(place)
            except OSError as error:
                failure = error
            else:
                return str(place[0]), None
    return str(addresses[0][4][0]), failure


def check_distinct(endpoints: Iterable[Endpoint]) -> None:
    """Refuse two names that lead to one address and port."""
    first: dict[tuple[str, int], str] = {}
    lines = []
    for endpoint in endpoints:
        if endpoint.address is None:
            continue
        before = first.setdefault((endpoint.address, endpoint.port), endpoint.target.name)
        if before != endpoint.target.name:
            lines.append(
                f"nodes: {before} and {endpoint.target.name} are the same machine "
                f"({endpoint.address} port {endpoint.port}); name it once"
            )
    if lines:
        raise UserError("\n".join(lines))


def scan(endpoints: Iterable[Endpoint], run: CommandRunner) -> dict[str, list[HostKey]]:
    """Collect the keys of the endpoints that answer, one ssh-keyscan per port, by the name that ssh looks up."""
    ports: dict[int, list[Endpoint]] = {}
    for endpoint in endpoints:
        if endpoint.scanned and endpoint.error is None:
            ports.setdefault(endpoint.port, []).append(endpoint)
    offered: dict[str, list[HostKey]] = {}
    for port, group in ports.items():
        hostnames = [endpoint.hostname for endpoint in group]
        # The option -T is per host; one process contacts all of them at once.
        printed = run(
            ["ssh-keyscan", "-T", str(PATIENCE_S), "-p", str(port), "-t", "ed25519,ecdsa,rsa", "--", *hostnames],
            PATIENCE_S * 4 + len(group) / 10,
        )
        if printed is None:
            raise UserError("host keys: ssh-keyscan is not installed; install the OpenSSH client")
        keys = host_keys.parse_keys(printed)
        for endpoint in group:
            scanned = host_keys.keys_of(host_keys.where(endpoint.hostname, port), keys)
            offered[endpoint.where] = [replace(key, where=endpoint.where) for key in scanned]
    return offered


def refuse(
    endpoints: Iterable[Endpoint], known: Sequence[HostKey], offered: Mapping[str, Sequence[HostKey]], file: str
) -> dict[str, Finding]:
    """Find the hosts that cannot be contacted, by name; file has the known keys."""
    refused = {}
    for endpoint in endpoints:
        name, tried, keys = endpoint.target.name, endpoint.attempt(file), offered.get(endpoint.where) or []
        known_keys = host_keys.keys_of(endpoint.where, known)
        if endpoint.error is not None:
            refused[name] = unreachable.explain_error(endpoint.error, tried, "this machine's network")
        elif not endpoint.scanned and not known_keys:
            refused[name] = _behind_a_jump_host(tried)
        elif endpoint.scanned and not keys:
            refused[name] = unreachable.explain(ReasonKey.CLOSED_CONNECTION, tried, "ssh-keyscan")
        elif host_keys.changed(known_keys, keys):
            refused[name] = unreachable.explain(ReasonKey.CHANGED_HOST_KEY, tried, file)
    return refused


def _behind_a_jump_host(tried: ConnectionAttempt) -> Finding:
    return Finding(
        check="host key",
        node=tried.node,
        status="error",
        observed=f"{tried.host} is behind a jump host, where ssh-keyscan does not reach",
        expected=f"its host key in {tried.known_hosts}",
        source="ssh -G",
        remedy=f"add what ssh-keyscan {tried.host} prints on the jump host, as lines that begin with {tried.key_name}",
    )
