# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is what a launch starts there: interpreter, torch, starter, slot, sudo?"""

from __future__ import annotations

from .._cluster.node import Node
from .._cluster.starter import ORIGIN
from .._cluster.starter import check as check_starter
from .._cluster.starter import choose as choose_starter
from .._findings.finding import Finding
from .._request.hints import command
from . import agreement
from .model import Cluster, Seen, completed, fine, skip, unknown

IN_CONTAINER = "the ranks run in containers"


def python(cluster: Cluster) -> list[Finding]:
    """Find nodes without the training interpreter."""
    host = cluster.policy.runtime == "host"
    found = agreement.check_python(cluster.facts) if host else []
    return completed("python interpreter", cluster, found, lambda node: _python(node) if host else skip(IN_CONTAINER))


def _python(node: Node) -> Seen:
    return fine(node.facts.python.path or "", "launch_python")


def torch(cluster: Cluster) -> list[Finding]:
    """Find nodes whose interpreter has no torch for torchrun."""
    if cluster.policy.runtime != "host" or cluster.launch.launcher != "torchrun":
        return completed("torch installed", cluster, [], lambda node: skip("no torch of the host is needed"))
    elsewhere = [
        name
        for name, node in cluster.nodes.items()
        if any(variable.startswith("PYTHON") for variable in cluster.environment(node))
    ]
    return completed("torch installed", cluster, agreement.check_torch(cluster.facts, elsewhere), _torch)


def _torch(node: Node) -> Seen:
    versions = node.facts.versions
    if versions is None:
        return unknown("nothing is known about versions", "versions")
    if versions.torch:
        return fine(versions.torch, versions.sources.get("torch", "facts versions"))
    return skip("files do not tell whether it is there: the ranks get other directories, or no interpreter is known")


def starter(cluster: Cluster) -> list[Finding]:
    """Find nodes where systemd is asked for and takes no unit."""

    def well(node: Node) -> Seen:
        choice = choose_starter(cluster.policy.starter, node.facts)
        return fine(f"{choice.name}: {choice.reason}", ORIGIN)

    return completed("starter", cluster, check_starter(cluster.policy.starter, cluster.facts), well)


def slot(cluster: Cluster) -> list[Finding]:
    """Find slots that another run holds."""
    asked = cluster.policy.slot
    found = agreement.check_slot(cluster.facts, asked, cluster.launch.call)
    return completed("slot", cluster, found, lambda node: fine(f"slot {asked} is free", "launch_slot"))


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
        (own.why or f"sudo asks {node.facts.user.name} for a password").removeprefix("sudo: "),
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
