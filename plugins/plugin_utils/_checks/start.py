# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is what a launch starts there: interpreter, torch, starter, slot, sudo?"""

from __future__ import annotations

import shlex

from .._cluster.node import Node
from .._cluster.starter import AUTO, ORIGIN, SETSID, choose, unit_of
from .._request.hints import command
from .._text.table import names
from .model import Cluster, Seen, fine, skip, unknown

IN_CONTAINER = "the ranks run in containers"


def python(node: Node, cluster: Cluster) -> Seen:
    """Find nodes without the training interpreter, or with one that is too old."""
    own = node.facts.python
    version = node.facts.versions.python if node.facts.versions else None
    if cluster.policy.runtime != "host":
        return skip(IN_CONTAINER)
    if own.path is not None and version and tuple(map(int, version.split(".")[:2])) < (3, 9):
        return Seen(
            "fail",
            f"{own.path} is Python {version}",
            "Python 3.9 or newer",
            "launch_python",
            "install a newer Python there, and set launch_python to it",
        )
    if own.path is not None:
        return fine(own.path, "launch_python")
    return Seen(
        "fail",
        f"{own.command} is not there",
        "the training interpreter",
        "launch_python",
        "install it there, or set launch_python to the interpreter that has the training's packages",
    )


def torch(node: Node, cluster: Cluster) -> Seen:
    """Find nodes whose training interpreter has no torch for torchrun, for certain."""
    if cluster.policy.runtime != "host" or cluster.launch.launcher != "torchrun":
        return skip("no torch of the host is needed")
    versions, path = node.facts.versions, node.facts.python.path
    if versions is None:
        return unknown("nothing is known about versions", "versions")
    if versions.torch:
        return fine(versions.torch, versions.sources.get("torch", "facts versions"))
    # Variables such as PYTHONPATH send Python to other directories than the node knows.
    elsewhere = any(name.startswith("PYTHON") for name in cluster.environment(node))
    if path is None or not versions.site_packages or elsewhere:
        return skip(
            "files do not tell whether it is there: the ranks get other directories, or no interpreter is known"
        )
    return Seen(
        "fail",
        f"{path} has no torch (looked in {names(versions.site_packages)})",
        "torch, which the launcher torchrun is part of",
        "launch_python",
        f"install it there with {shlex.quote(path)} -m pip install torch, "
        "or set launch_python to the interpreter that has the training's packages",
    )


def starter(node: Node, cluster: Cluster) -> Seen:
    """Find nodes where systemd is asked for and takes no unit of this user."""
    asked = cluster.policy.starter
    if cluster.policy.runtime != "host":
        return skip("the container engine starts the ranks")
    unit, why = unit_of(node.facts)
    if asked in (AUTO, SETSID) or unit is not None:
        choice = choose(asked, node.facts)
        return fine(f"{choice.name}: {choice.reason}", ORIGIN)
    return Seen(
        "fail",
        why,
        "a systemd that takes units: of root, or of a user who lingers",
        f"{ORIGIN} is {asked!r}",
        f"let the user linger, or use {ORIGIN}: {AUTO}",
    )


def slot(node: Node, cluster: Cluster) -> Seen:
    """Find slots that another run holds."""
    asked, holder = cluster.policy.slot, node.facts.holder
    if holder is None:
        return fine(f"slot {asked} is free", "launch_slot")
    seen = [f"slot {asked} is held by {holder.run_id or 'a run that cannot be named'}"]
    seen += [f"as node {holder.node}"] if holder.node else []
    seen += [f"since {holder.since}"] if holder.since else []
    remedy = "wait for its end"
    if holder.run_id:
        remedy += f", or stop it: {command('stop', holder.run_id, cluster.launch.call)}"
    return Seen("fail", " ".join(seen), "a free slot", "launch_slot", remedy)


def sudo(node: Node, cluster: Cluster) -> Seen:
    """See whether the user may become root without a password."""
    own = node.facts.sudo
    if node.facts.user.uid == 0:
        return fine("the user is root")
    if own is None or own.passwordless is None:
        return unknown(f"sudo cannot be asked{f': {own.why}' if own and own.why else ''}", "sudo")
    if own.passwordless:
        return fine("sudo asks for no password")
    return Seen(
        "fail",
        own.why or f"sudo asks {node.facts.user.name} for a password",
        "passwordless sudo: the roles that set a node up need it",
        "sudo -n",
        f"add to /etc/sudoers.d there: {node.facts.user.name} ALL=(ALL) NOPASSWD:ALL",
    )


def leftovers(node: Node, cluster: Cluster) -> Seen:
    """Find this user's processes of runs that do not hold the slot; another slot's are among them."""
    processes = node.facts.processes
    if processes is None or processes.runs is None:
        return unknown("processes cannot be listed", "processes")
    holder = node.facts.holder.run_id if node.facts.holder else None
    left = [each for each in processes.runs if each.run_id != holder and each.uid in (None, node.facts.user.uid)]
    if not left:
        return fine("no process of an earlier run")
    runs = sorted({each.run_id or "a run without a name" for each in left})
    pids = ", ".join(str(each.pid) for each in left[:5])
    return Seen(
        "fail",
        f"{len(left)} processes of {', '.join(runs)} (pid {pids}{', …' if len(left) > 5 else ''})",
        "none: they hold memory and ports",
        "MUSTER_RUN_ID in /proc/PID/environ",
        f"if it is no run of another slot or work directory: {command('stop', runs[0], cluster.launch.call)}",
    )


def hung(node: Node, cluster: Cluster) -> Seen:
    """Find processes that sleep in the kernel for ever."""
    processes = node.facts.processes
    if processes is None or processes.hung is None:
        return unknown("processes cannot be listed", "processes")
    if not processes.hung:
        return fine("no process hangs in the kernel")
    seen = "; ".join(f"pid {each.pid} {each.command or ''} {each.wait or ''}".strip() for each in processes.hung[:5])
    return Seen(
        "fail",
        f"{len(processes.hung)} hang in the kernel (state D): {seen}",
        "none: no signal ends them, and what they hold is gone",
        "/proc/PID/stat, seen twice",
        "look at dmesg for the driver or file server they wait for, and restart the node",
    )
