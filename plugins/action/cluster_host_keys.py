# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `cluster_host_keys`: collects the host keys of new hosts, shows the fingerprints, and asks."""

from __future__ import annotations

import dataclasses
import os
import socket
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.errors import AnsiblePromptInterrupt, AnsiblePromptNoninteractive
from ansible.utils.display import Display

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.plugin_utils._action.base import ControllerAction
from ansible_collections.muster.train.plugins.plugin_utils._action.files import read_text
from ansible_collections.muster.train.plugins.plugin_utils._action.screen import show
from ansible_collections.muster.train.plugins.plugin_utils._cluster import unreachable
from ansible_collections.muster.train.plugins.plugin_utils._cluster.unreachable import ReasonKey
from ansible_collections.muster.train.plugins.plugin_utils._discover import host_keys
from ansible_collections.muster.train.plugins.plugin_utils._discover.host_keys import HostKey
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding, PlanError
from ansible_collections.muster.train.plugins.plugin_utils._request.host_list import (
    SSH_PORT,
    HostsError,
    Target,
    parse_hosts,
    parse_node_list,
)
from ansible_collections.muster.train.plugins.plugin_utils._request.settings import values
from ansible_collections.muster.train.plugins.plugin_utils._text.table import table

display = Display()

OPTIONS = {"request": {"type": "dict", "required": True}, "dir": {"type": "path", "default": "inventories"}}
KNOWN = "known_hosts.txt"  # Ansible takes no file of that kind for an inventory
PATIENCE_S = 5
AT_ONCE = 64
QUESTION = "Are these the host keys of your hosts? They are trusted from now on. Type yes or no"
HEADERS = ("host", "key", "fingerprint")


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


class ActionModule(ControllerAction):
    """Contact all hosts at once. Nothing is written except a temporary file of this play with the accepted keys."""

    OPTIONS = OPTIONS

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        settings = values(args["request"])
        home = Path(args["dir"]).expanduser() / settings["cluster"]
        _check_new(home, settings["force"])
        targets = _targets(settings)
        with ThreadPoolExecutor(min(AT_ONCE, len(targets))) as pool:
            endpoints = list(pool.map(_look, targets))
        _check_distinct(endpoints)
        known = host_keys.parse_keys(read_text(home / KNOWN) or "")
        offered = _scan(endpoints)
        refused = _refused(endpoints, known, offered, str(home / KNOWN))
        accepted = {
            endpoint.target.name: offered.get(endpoint.where) or _of(endpoint.where, known)
            for endpoint in endpoints
            if endpoint.target.name not in refused
        }
        if not accepted:
            raise PlanError(refused.values())
        self._accept(accepted, known, settings["accept_keys"])
        keys = [key for host in accepted.values() for key in host]
        file = _write_temporary(host_keys.known_hosts(dict.fromkeys(keys)))
        return {
            "known_hosts": host_keys.known_hosts(dict.fromkeys([*keys, *_others(known, keys)])),
            "ssh_args": host_keys.ssh_args(file),
            "hosts": [_host(endpoint, refused.get(endpoint.target.name)) for endpoint in endpoints],
        }

    def _accept(self, accepted: Mapping[str, Sequence[HostKey]], known: Sequence[HostKey], given: bool) -> None:
        """Show the fingerprints and ask whether they are right, unless all were accepted before."""
        show(["", *table(HEADERS, host_keys.fingerprints(accepted.items()), 200), ""])
        if given or all(key in known for host in accepted.values() for key in host):
            return
        try:
            answer = display.prompt_until(f"{QUESTION}: ", complete_input=(b"\r", b"\n"))
        except AnsiblePromptNoninteractive:
            raise UserError(
                "host keys: the fingerprints above could not be confirmed, because there is no terminal; "
                "compare them (on each host: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub) "
                "and give -e accept_keys=true"
            ) from None
        except AnsiblePromptInterrupt:
            answer = b""
        if answer.strip().lower() not in (b"yes", b"y"):
            raise UserError("host keys: they were not accepted; nothing was written, and no host was logged in to")


def _check_new(home: Path, force: bool) -> None:
    """Refuse to overwrite an inventory."""
    try:
        names = sorted(path.name for path in home.iterdir() if path.name != KNOWN)
    except FileNotFoundError:
        return
    except OSError as error:
        raise UserError(f"cluster: {home} cannot be read ({error.strerror})") from None
    if names and not force:
        raise UserError(
            f"cluster: {home} already exists ({', '.join(names[:5])}); expected a new name. "
            "Choose another with -e cluster=NAME, or overwrite hosts.yml and group_vars/nodes.yml with -e force=true"
        )


def _targets(values: Mapping[str, Any]) -> list[Target]:
    """Return the hosts that were named, in order, each with its user."""
    path, named = values["node_list"], values["nodes"] or values["hosts"]
    try:
        listed = Path(path).expanduser().read_text(encoding="utf-8") if path else None
        targets = parse_hosts(named) if listed is None else parse_node_list(listed)
    except HostsError as error:
        raise UserError("\n".join(f"{path or 'nodes'}: {line}" for line in error.lines)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"node_list: {path} cannot be read ({error}); expected one host a line") from None
    return [dataclasses.replace(target, user=target.user or values["user"]) for target in targets]


def _look(target: Target) -> Endpoint:
    """Ask ssh how it would reach a host, and try to connect to its port."""
    options = ["-p", str(target.port)] if target.port else []
    options += ["-l", target.user] if target.user else []
    settings = host_keys.parse_settings(Host().run(["ssh", "-G", *options, target.host], PATIENCE_S).out)
    hostname, port = settings.get("hostname", target.host), int(settings.get("port", target.port or SSH_PORT))
    where = settings.get("hostkeyalias", "").lower() or host_keys.where(hostname, port)
    endpoint = Endpoint(target, hostname, port, settings.get("user", target.user), where)
    if "proxyjump" in settings or "proxycommand" in settings:
        return dataclasses.replace(endpoint, scanned=False)
    address, error = _connect(hostname, port)
    return dataclasses.replace(endpoint, address=address, error=error)


def _connect(hostname: str, port: int) -> tuple[str | None, OSError | UnicodeError | None]:
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


def _check_distinct(endpoints: Iterable[Endpoint]) -> None:
    """Refuse two names that lead to one address and port, before any key is collected."""
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


def _scan(endpoints: Iterable[Endpoint]) -> dict[str, list[HostKey]]:
    """Collect the keys of the endpoints that answer, one ssh-keyscan per port, by the name that ssh looks up."""
    ports: dict[int, list[Endpoint]] = {}
    for endpoint in endpoints:
        if endpoint.scanned and endpoint.error is None:
            ports.setdefault(endpoint.port, []).append(endpoint)
    offered: dict[str, list[HostKey]] = {}
    for port, group in ports.items():
        hostnames = [endpoint.hostname for endpoint in group]
        # The option -T is per host; one process contacts all of them at once.
        done = Host().run(
            ["ssh-keyscan", "-T", str(PATIENCE_S), "-p", str(port), "-t", "ed25519,ecdsa,rsa", "--", *hostnames],
            timeout=PATIENCE_S * 4 + len(group) / 10,
        )
        if done.missing:
            raise UserError("host keys: ssh-keyscan is not installed; install the OpenSSH client")
        keys = host_keys.parse_keys(done.out)
        for endpoint in group:
            scanned = _of(host_keys.where(endpoint.hostname, port), keys)
            offered[endpoint.where] = [dataclasses.replace(key, where=endpoint.where) for key in scanned]
    return offered


def _of(where: str, keys: Iterable[HostKey]) -> list[HostKey]:
    return sorted((key for key in keys if key.where.lower() == where), key=lambda key: (key.type, key.blob))


def _others(known: Iterable[HostKey], keys: Sequence[HostKey]) -> list[HostKey]:
    """Return the known keys of hosts that are not among these."""
    places = {key.where for key in keys}
    return [key for key in known if key.where not in places]


def _refused(
    endpoints: Iterable[Endpoint], known: Sequence[HostKey], offered: Mapping[str, Sequence[HostKey]], file: str
) -> dict[str, Finding]:
    """Find the hosts that cannot be contacted, by name."""
    refused = {}
    for endpoint in endpoints:
        name, keys = endpoint.target.name, offered.get(endpoint.where) or []
        tried = unreachable.ConnectionAttempt(
            name, endpoint.hostname, endpoint.port, endpoint.user, file, endpoint.where
        )
        if endpoint.error is not None:
            refused[name] = unreachable.explain_error(endpoint.error, tried, "this machine's network")
        elif not endpoint.scanned and not _of(endpoint.where, known):
            refused[name] = _behind_a_jump_host(tried)
        elif endpoint.scanned and not keys:
            refused[name] = unreachable.explain(ReasonKey.CLOSED_CONNECTION, tried, "ssh-keyscan")
        elif host_keys.changed(_of(endpoint.where, known), keys):
            refused[name] = unreachable.explain(ReasonKey.CHANGED_HOST_KEY, tried, file)
    return refused


def _behind_a_jump_host(tried: unreachable.ConnectionAttempt) -> Finding:
    return Finding(
        check="host key",
        node=tried.node,
        status="error",
        observed=f"{tried.host} is behind a jump host, where ssh-keyscan does not reach",
        expected=f"its host key in {tried.known_hosts}",
        source="ssh -G",
        remedy=f"add what ssh-keyscan {tried.host} prints on the jump host, as lines that begin with {tried.key_name}",
    )


def _host(endpoint: Endpoint, finding: Finding | None) -> dict[str, Any]:
    return {
        "name": endpoint.target.name,
        "host": endpoint.target.host,
        "address": endpoint.address,
        "user": endpoint.target.user,
        "port": endpoint.target.port,
        "ssh": {"hostname": endpoint.hostname, "port": endpoint.port, "user": endpoint.user, "where": endpoint.where},
        "reached": finding is None,
        "finding": finding.to_dict() if finding else None,
    }


def _write_temporary(text: str) -> str:
    """Write a file that Ansible removes when the playbook ends, and return its path."""
    descriptor, path = tempfile.mkstemp(prefix="known_hosts.", dir=str(vars(constants)["DEFAULT_LOCAL_TMP"]))
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    return path
