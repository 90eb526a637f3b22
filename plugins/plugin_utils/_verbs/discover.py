# SPDX-License-Identifier: GPL-3.0-or-later
"""`discover`: an inventory for new hosts, which are given by their names.

Their host keys come first: `keys` collects and shows them and asks the user. With these keys alone Ansible then logs in
to the hosts, each of which answers `facts`. `report` chooses the policy, writes the inventory, and says why a host has
not answered. Nothing on any host is changed.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from .._action.files import read_text, write_temporary
from .._action.screen import ask_user, show
from .._cluster import unreachable
from .._cluster.node import Node, module_reason_key, text_of
from .._discover import host_keys, inventory
from .._discover.endpoints import Endpoint, check_distinct, look_up, refuse, scan
from .._discover.host_keys import HostKey
from .._discover.inventory import Discovered, NamedHost
from .._findings.errors import ReportedError, UserError
from .._findings.finding import Finding, PlanError
from .._findings.finding import lines as finding_lines
from .._findings.invocation import Invocation
from .._request.host_list import HostsError, Target, parse_hosts, parse_node_list
from .._text.plain import plain
from .._text.table import aligned, table
from .step import Conclude, Conclusion, Play, WantedFile, ask

KNOWN = "known_hosts.txt"  # Ansible takes no file of that kind for an inventory
AT_ONCE = 64
QUESTION = "Are these the host keys of your hosts? They are trusted from now on. Type yes or no"
HEADERS = ("host", "key", "fingerprint")
# Of the facts, what the choices of an inventory need; and candidates for the work directory, if no home is on a disk of
# its node.
SUBSET = ["rdma", "gpu", "net", "limits", "container", "versions", "kernel", "engine", "disk"]
DATA_DIRS = ["/scratch", "/local", "/var/tmp"]
TEMPLATES = Path(__file__).resolve().parents[3] / "roles" / "discover" / "templates"
FILES = {"hosts.yml": "hosts.yml.j2", os.path.join("group_vars", "nodes.yml"): "nodes.yml.j2"}
WRITABLE = "a directory that you can write to: run discover where inventories/ can be written, or set discover_dir"


@Conclude
def keys(play: Play) -> Conclusion:
    """Contact all hosts at once, and return those that may be logged in to, with ssh's options for the accepted keys.

    Nothing is written except a temporary file with these keys.
    """
    settings, home = play.parameters, _home(play)
    _check_new(home, settings["force"])
    targets = _read_targets(settings)
    with ThreadPoolExecutor(min(AT_ONCE, len(targets))) as pool:
        endpoints = list(pool.map(partial(look_up, run=play.run_command), targets))
    check_distinct(endpoints)
    known = host_keys.parse_keys(read_text(home / KNOWN) or "")
    offered = scan(endpoints, play.run_command)
    refused = refuse(endpoints, known, offered, str(home / KNOWN))
    accepted = {
        endpoint.target.name: offered.get(endpoint.where) or host_keys.keys_of(endpoint.where, known)
        for endpoint in endpoints
        if endpoint.target.name not in refused
    }
    if not accepted:
        raise PlanError(refused.values())
    _accept(accepted, known, settings["accept_keys"])
    trusted = list(dict.fromkeys(key for host in accepted.values() for key in host))
    places = {key.where for key in trusted}
    others = [key for key in known if key.where not in places]
    file = write_temporary("known_hosts.", host_keys.known_hosts(trusted))
    result = {
        "known_hosts": host_keys.known_hosts([*trusted, *others]),
        "ssh_args": host_keys.ssh_args(file),
        "hosts": [_to_dict(endpoint, refused.get(endpoint.target.name), home) for endpoint in endpoints],
    }
    return Conclusion(result=result)


@ask("node_facts")
def facts(_play: Play, _host: str) -> Mapping[str, Any]:
    """Ask a host what it is."""
    return {"data_dirs": DATA_DIRS, "subset": SUBSET}


@Conclude
def report(play: Play) -> Conclusion:
    """Write the inventory of the hosts that answered, and report why others did not."""
    home, answer = _home(play), plain(play.read_answer("localhost", "discover__keys"))
    discovered = inventory.discover([_read_host(host, play) for host in answer["hosts"]])
    stopping = [finding for finding in discovered.findings if finding.stops]
    document = {**discovered.to_dict(), "errors": [finding.to_error() for finding in stopping]}
    lines = _summary(discovered, play.width)
    # With two names for one machine, the right one is not known.
    if not discovered.reached or any(finding.status == "fail" for finding in stopping):
        return Conclusion(lines=lines, document=document, failure=_failure(stopping, "nothing was written"))
    end = f"{home} has the others; fix these and run discover again with -e force=true"
    return Conclusion(
        lines=lines,
        document={**document, "inventory": str(home.absolute())},
        files=_files(home, discovered, answer["known_hosts"], play),
        closing_lines=[] if play.is_checked else ["", *aligned(_next_commands(home, play.request))],
        failure=_failure(stopping, end) if stopping else None,
    )


def _home(play: Play) -> Path:
    """Return the directory of the new inventory."""
    folder = os.path.expandvars(str(play.read_policy(["discover_dir"])["discover_dir"]))
    return Path(folder).expanduser() / str(play.parameters["cluster"])


# The keys


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


def _read_targets(settings: Mapping[str, Any]) -> list[Target]:
    """Return the hosts that were named, in order, each with its user."""
    path, named = settings["node_list"], settings["nodes"] or settings["hosts"]
    try:
        listed = Path(path).expanduser().read_text(encoding="utf-8") if path else None
        targets = parse_hosts(named) if listed is None else parse_node_list(listed)
    except HostsError as error:
        raise UserError("\n".join(f"{path or 'nodes'}: {line}" for line in error.lines)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"node_list: {path} cannot be read ({error}); expected one host a line") from None
    return [dataclasses.replace(target, user=target.user or settings["user"]) for target in targets]


def _accept(accepted: Mapping[str, Sequence[HostKey]], known: Sequence[HostKey], given: bool) -> None:
    """Show the fingerprints and ask whether they are right, unless all were accepted before."""
    show(["", *table(HEADERS, host_keys.fingerprints(accepted.items()), 200), ""])
    if given or all(key in known for host in accepted.values() for key in host):
        return
    answer = ask_user(f"{QUESTION}: ")
    if answer is None:
        raise UserError(
            "host keys: the fingerprints above could not be confirmed, because there is no terminal; "
            "compare them (on each host: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub) "
            "and give -e accept_keys=true"
        )
    if answer.lower() not in ("yes", "y"):
        raise UserError("host keys: they were not accepted; nothing was written, and no host was logged in to")


def _to_dict(endpoint: Endpoint, finding: Finding | None, home: Path) -> dict[str, Any]:
    """Return a host for add_host and for the report."""
    target = endpoint.target
    return {
        "name": target.name,
        "host": target.host,
        "address": endpoint.address,
        "user": target.user,
        "port": target.port,
        "attempt": dataclasses.asdict(endpoint.attempt(str(home / KNOWN))),
        "reached": finding is None,
        "finding": finding.to_dict() if finding else None,
    }


# The report


def _read_host(host: Mapping[str, Any], play: Play) -> NamedHost:
    """Return a host with its facts, or with the finding that explains why it has none."""
    names = ("name", "host", "address", "user", "port")
    named = NamedHost(**{name: host[name] for name in names})
    if host["finding"]:
        return dataclasses.replace(named, finding=Finding(**host["finding"]))
    answer = plain(play.read_answer(named.name, "discover__facts")) or {}
    known = answer.get("ansible_facts")
    if isinstance(known, Mapping) and known.get("node"):
        return dataclasses.replace(named, node=Node.from_facts(named.name, known, named.host))
    tried = unreachable.ConnectionAttempt(**host["attempt"])
    finding = unreachable.why(text_of(answer), tried, "Ansible", module_reason_key(answer))
    return dataclasses.replace(named, finding=finding)


def _summary(discovered: Discovered, width: int) -> list[str]:
    """Return the lines: the hosts, the choices for the inventory, and how many hosts were reached."""
    lines = [""]
    if discovered.rows:
        lines += [*table(inventory.HEADERS, discovered.rows, width), ""]
        chosen = [
            (name, f"{'not set' if choice.value is None else choice.value} - {choice.why}")
            for name, choice in discovered.choices.items()
        ]
        lines += aligned(chosen)
    total, reached = len(discovered.hosts), len(discovered.reached)
    # Findings that stop are in the task's error message.
    others = finding_lines(finding for finding in discovered.findings if not finding.stops)
    return [*lines, "", f"{reached} of {total} hosts answered", *others]


def _failure(stopping: Iterable[Finding], end: str) -> ReportedError:
    return ReportedError("\n".join([*finding_lines(stopping), end]))


def _files(home: Path, discovered: Discovered, known_hosts: str, play: Play) -> list[WantedFile]:
    """Return the files of the inventory; the time and the command in them do not count as a difference."""
    settings, key = play.parameters, "ansible_ssh_private_key_file"
    about = {
        "user": settings["user"],
        "key": play.read_policy([key]).get(key),
        "cluster": settings["cluster"],
        "command": play.request["command"],
        "created": play.request["created"],
    }
    undated = {**about, "command": inventory.ANY, "created": inventory.ANY}
    templates = {name: (TEMPLATES / template).read_text(encoding="utf-8") for name, template in FILES.items()}
    patterns = inventory.files(templates, discovered, undated)
    wanted = {**inventory.files(templates, discovered, about), KNOWN: known_hosts}
    same = {name: partial(inventory.same, wanted=patterns.get(name, text)) for name, text in wanted.items()}
    return [WantedFile(home / name, text, "cluster", WRITABLE, is_same=same[name]) for name, text in wanted.items()]


def _next_commands(home: Path, request: Mapping[str, Any]) -> list[tuple[str, str]]:
    to_home = Invocation(f"{Invocation.of(request).call} -i {shlex.quote(str(home))}")
    return [
        ("inventory", str(home)),
        ("look", to_home.playbook("detect")),
        ("set up", to_home.playbook("setup")),
        ("check", to_home.playbook("preflight")),
        ("launch", to_home.playbook("launch", "-e", "script=train.py")),
    ]
