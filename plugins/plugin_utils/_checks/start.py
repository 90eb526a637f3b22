# SPDX-License-Identifier: GPL-3.0-or-later
"""Does a node have what a launch needs to start: interpreter, torch, starter, slot, sudo?"""

from __future__ import annotations

import shlex

from ansible_collections.muster.train.plugins.module_utils._records.oldest_python import EXPECTED_PYTHON, OLDEST_PYTHON

from .._cluster.node import Node
from .._cluster.slot import EXPECTED, QUEUE, add_stop, describe_keeper, earliest
from .._cluster.slot import ORIGIN as SLOT
from .._cluster.starter import AUTO, ORIGIN, SLURM, STARTERS, choose, unit_of
from .._findings.remedy import sentence
from .._request.verbs import BY_TORCHRUN
from .._text.table import names
from .model import IN_CONTAINER, Cluster, Outcome, failed, passed, skipped, unavailable

NOT_LISTED = "the processes could not be listed"
LOGIND = "logind.conf"
# Below are system users (SYS_UID_MAX of login.defs(5)).
FIRST_UID = 1000
# Launchers that are packages of the same names.
PACKAGES = ("accelerate", "deepspeed")
SET_PYTHON = "set launch_python to the interpreter that has the training's packages"


def python(node: Node, cluster: Cluster) -> Outcome:
    """Find nodes without the training interpreter, or with one that is too old."""
    interpreter = node.facts.python
    version = node.facts.versions.python if node.facts.versions else None
    if not cluster.on_host:
        return skipped(IN_CONTAINER)
    if interpreter.path is None:
        remedy = f"install it there, or {SET_PYTHON}"
        return failed(f"{interpreter.command} was not found", "the training interpreter", "launch_python", remedy)
    if version and tuple(map(int, version.split(".")[:2])) < OLDEST_PYTHON:
        remedy = "install a newer Python there, and set launch_python to it"
        return failed(f"{interpreter.path} is Python {version}", EXPECTED_PYTHON, "launch_python", remedy)
    return passed(interpreter.path, "launch_python")


def torch(node: Node, cluster: Cluster) -> Outcome:
    """Find nodes whose training interpreter certainly has no torch for torchrun."""
    if not cluster.on_host or cluster.launch.launcher not in BY_TORCHRUN:
        return skipped("torch is not needed on the host")
    return _installed(node, cluster, "torch", "torch, of which torchrun is a part")


def launcher(node: Node, cluster: Cluster) -> Outcome:
    """Find nodes whose training interpreter certainly has not the package that the launcher belongs to."""
    name = cluster.launch.launcher
    if not cluster.on_host or name not in PACKAGES:
        return skipped("the launcher needs no package of its own on the host")
    return _installed(node, cluster, name, f"{name}, which is the launcher")


def _installed(node: Node, cluster: Cluster, package: str, expected: str) -> Outcome:
    """Return whether the training interpreter has a package, as far as the files of the node tell it."""
    versions, path = node.facts.versions, node.facts.python.path
    if versions is None:
        return unavailable("the versions could not be read", "versions")
    if version := getattr(versions, package):
        return passed(version, versions.sources.get(package, "facts versions"))
    # Such variables send Python to directories that the facts do not cover, except the PYTHONPATH that they were given.
    covered = ("PYTHONPATH", versions.python_path)
    variables = cluster.environment(node).items()
    elsewhere = any(name.startswith("PYTHON") and (name, str(value)) != covered for name, value in variables)
    if path is None or not versions.site_packages or elsewhere:
        return skipped("not known: the ranks search other directories, or there is no interpreter")
    return failed(
        f"{path} has no {package} (searched {names(versions.site_packages)})",
        expected,
        "launch_python",
        f"install it there with {shlex.quote(path)} -m pip install {package}, or {SET_PYTHON}",
    )


def starter(node: Node, cluster: Cluster) -> Outcome:
    """Find nodes where the starter that is asked for cannot start the runner, or cannot keep it."""
    setting = cluster.policy.starter
    if cluster.in_engine:
        return skipped("the container engine starts the ranks")
    step = node.facts.slurm
    if setting not in (AUTO, SLURM) and step is not None and step.is_tracked and node.is_in_step:
        observed = f"what a step of the Slurm job {step.job} starts here ends with the step"
        return failed(observed, "runners in a step of their own", f"{ORIGIN} is {setting!r}", f"use {ORIGIN}: {AUTO}")
    if setting == SLURM and not node.is_in_step:
        observed = "the node is not reached by steps of a Slurm job"
        remedy = f"reach it by the connection muster.train.srun, or use {ORIGIN}: {AUTO}"
        return failed(observed, "a step of a job that runs", f"{ORIGIN} is {setting!r}", remedy)
    if setting in (AUTO, SLURM) and node.is_in_step and step is not None and step.node is None:
        observed = f"tasks here run as {node.facts.user.name}, without the variables of the Slurm job {step.job}"
        return failed(observed, "the user of the job", "ansible_become", "set ansible_become: false for the nodes")
    unit, why = unit_of(node.facts)
    if setting == AUTO or not STARTERS[setting].is_unit or unit is not None:
        choice = choose(setting, node)
        return passed(f"{choice.name}: {choice.reason}", ORIGIN)
    expected, remedy = (
        "root or a user with lingering enabled, on a node with systemd",
        f"enable lingering for this user, or use {ORIGIN}: {AUTO}",
    )
    return failed(why, expected, f"{ORIGIN} is {setting!r}", remedy)


def logout(node: Node, cluster: Cluster) -> Outcome:
    """Find nodes where logind ends the ranks with the controller's session."""
    systemd = node.facts.systemd
    if cluster.in_engine or not _ends_with_session(node, cluster):
        return passed("the ranks do not belong to the controller's session", ORIGIN)
    if systemd.in_session is False:  # as where sshd does not use PAM, or Slurm takes the login into its job
        return passed("the login is not in a logind session", "/proc/self/cgroup")
    if not systemd.kill_user_processes:
        return passed("logind leaves the processes of this user's sessions alone", LOGIND)
    observed = f"logind ends the processes of {node.facts.user.name} with their session"
    expected = "KillUserProcesses=no, or the user in KillExcludeUsers"
    return failed(observed, expected, LOGIND, _linger(node))


def shared_memory(node: Node, cluster: Cluster) -> Outcome:
    """Find nodes where logind removes the ranks' shared memory with the last session; system users are exempt."""
    systemd = node.facts.systemd
    if cluster.in_engine or node.facts.user.uid < FIRST_UID or not _ends_with_session(node, cluster):
        return passed("it does not end with a session", ORIGIN)
    if not systemd.remove_ipc:
        return passed("logind.conf does not remove it", LOGIND)
    observed = "RemoveIPC=yes removes the ranks' shared memory at the last logout"
    return failed(observed, "RemoveIPC=no", LOGIND, _linger(node))


def _ends_with_session(node: Node, cluster: Cluster) -> bool:
    """Return whether the runner is a process of a session that logind may end; root's it does not end."""
    systemd, user = node.facts.systemd, node.facts.user
    choice = choose(cluster.policy.starter, node)
    return systemd.booted and user.uid != 0 and STARTERS[choice.name].in_session


def _linger(node: Node) -> str:
    return f"start it as a unit: loginctl enable-linger {shlex.quote(node.facts.user.name)}, and {ORIGIN}: {AUTO}"


def slot(node: Node, cluster: Cluster) -> Outcome:
    """Find slots that another launch keeps; the words are the same on all nodes of its run, which makes one line."""
    slot, holder = cluster.policy.slot, node.facts.holder
    if holder is None:
        return passed(f"slot {slot} is free", SLOT)
    if holder.waits and holder.nonce == cluster.launch.nonce:
        return passed(f"slot {slot} is reserved for this launch", SLOT)
    since = earliest(other.facts.holder for other in cluster.nodes.values()).get(holder.nonce)
    remedy = cluster.launch.invocation.fill(add_stop(QUEUE, holder))
    return failed(describe_keeper(slot, node.name, holder, since), EXPECTED, SLOT, remedy)


def sudo(node: Node, cluster: Cluster) -> Outcome:
    """Check whether the user may become root without a password."""
    sudo, user = node.facts.sudo, node.facts.user
    if user.uid == 0:
        return passed("the user is root")
    if sudo is None or sudo.passwordless is None:
        return unavailable("sudo could not be tried", "sudo", sudo.why if sudo else None)
    if sudo.passwordless:
        return passed("sudo needs no password")
    return failed(
        sudo.why or f"sudo asks {user.name} for a password",
        "passwordless sudo: the roles that set a node up need it",
        "sudo -n",
        f"add to /etc/sudoers.d there: {user.name} ALL=(ALL) NOPASSWD:ALL",
    )


def leftovers(node: Node, cluster: Cluster) -> Outcome:
    """Find this user's processes of runs that do not hold the slot; another slot's are among them."""
    processes, uid = node.facts.processes, node.facts.user.uid
    if processes is None or processes.runs is None:
        return unavailable(NOT_LISTED, "processes")
    holder = node.facts.holder.run_id if node.facts.holder else None
    remaining = [process for process in processes.runs if process.run_id != holder and process.uid in (None, uid)]
    if not remaining:
        return passed("no process of an earlier run")
    runs = sorted({process.run_id or "an unidentified run" for process in remaining})
    pids = ", ".join([*(str(process.pid) for process in remaining[:5]), *(["…"] if len(remaining) > 5 else [])])
    stop = cluster.launch.invocation.command("stop", "-e", f"run_id={runs[0]}")
    return failed(
        f"{len(remaining)} process{'es' if len(remaining) > 1 else ''} of {', '.join(runs)} (pid {pids})",
        "no leftover processes: they hold memory and ports",
        "MUSTER_RUN_ID in /proc/PID/environ",
        sentence("unless it is a run of another slot or work directory: ", stop),
    )


def hung(node: Node, cluster: Cluster) -> Outcome:
    """Find processes that hang in the kernel."""
    processes = node.facts.processes
    if processes is None or processes.hung is None:
        return unavailable(NOT_LISTED, "processes")
    if not processes.hung:
        return passed("no process hangs in the kernel")
    texts = [f"pid {item.pid} {item.command or ''} {item.wait or ''}".strip() for item in processes.hung[:5]]
    return failed(
        f"{len(processes.hung)} hang in the kernel (state D): {'; '.join(texts)}",
        "no such processes: no signal ends them, and they keep their memory and GPUs",
        "/proc/PID/stat, read twice",
        "check dmesg for the driver or file server they wait for, and restart the node",
    )
