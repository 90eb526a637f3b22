# SPDX-License-Identifier: GPL-3.0-or-later
"""What Ansible knows of the command that was typed, read where a verb checks its request."""

from __future__ import annotations

import getpass
import os
import platform
import socket
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from ansible import constants, context
from ansible.inventory.group import Group
from ansible.module_utils.common.yaml import yaml_load
from ansible.parsing.splitter import parse_kv
from ansible.release import __version__ as ansible_core_version
from ansible.utils.vars import load_extra_vars

from .._request.command_line import CommandLine
from .files import read_text

# Which allocation the inventory plugin `slurm` reads.
JOB_ID = "MUSTER_SLURM_JOB_ID"
OF_ALLOCATION = (JOB_ID, "MUSTER_SLURM_NODE_LIST", "MUSTER_SLURM_CONNECTION")
# Which pods the inventory plugin `statefulset` reads.
OF_PODS = ("K8S_AUTH_KUBECONFIG", "K8S_AUTH_CONTEXT", "K8S_AUTH_NAMESPACE", "MUSTER_STATEFULSET")
# The jobs whose nodes this command's inventories are, which the plugin adds: the next command may be typed elsewhere.
JOBS: set[str] = set()
# Why its inventories have no nodes, which of them are of Slurm, and their groups by name; the plugin adds these, too.
WITHOUT_NODES: list[str] = []
OF_SLURM: list[str] = []
GROUPS: dict[str, Group] = {}
COLLECTION = Path(__file__).resolve().parents[3]


def read_command_line(loader: Any, play_variables: Collection[str]) -> CommandLine:
    """Read the command line; loader is Ansible's DataLoader, and play_variables are the names in the play's `vars`.

    The texts of -e are read here, because CLIARGS is not parsed, and the task's variables are templates by now.
    """
    typed = context.CLIARGS
    tags = tuple(map(str, typed.get("tags") or ()))
    return CommandLine(
        argv=tuple(sys.argv),
        options=tuple((text, _variables_of(text, loader)) for text in map(str, typed.get("extra_vars") or ())),
        extra_vars=load_extra_vars(loader),
        inventories=tuple(map(str, typed.get("inventory") or ())),
        limit=typed.get("subset"),
        tags=() if tags == ("all",) else tags,
        start_at_task=typed.get("start_at_task"),
        play_variables=play_variables,
        documented=_documented_variables(),
        environment=os.environ,
        next_environment=_next_environment(),
        host=socket.gethostname(),
        user=_user(),
        without_nodes=tuple(dict.fromkeys(WITHOUT_NODES)),
        of_slurm=tuple(dict.fromkeys(OF_SLURM)),
        versions={"muster": _version(), "ansible_core": ansible_core_version, "python": platform.python_version()},
    )


def _variables_of(text: str, loader: Any) -> dict[str, Any]:
    """Return the variables of one -e, read as `load_extra_vars` does, which has accepted it."""
    if text.startswith("@"):
        return dict(loader.load_from_file(text[1:]))
    return dict(loader.load(text) if text[:1] in ("[", "{") else parse_kv(text))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return str(os.getuid())


def _next_environment() -> dict[str, str]:
    """Return the variables that the next command needs; they may be set for this command only."""
    kept = {
        "ANSIBLE_CONFIG": os.environ.get("ANSIBLE_CONFIG"),
        "ANSIBLE_INVENTORY": os.environ.get("ANSIBLE_INVENTORY"),
        "ANSIBLE_COLLECTIONS_PATH": _collections(),
        **{name: os.environ.get(name) for name in (*OF_ALLOCATION, *OF_PODS)},
    }
    if not kept[JOB_ID] and len(JOBS) == 1:
        [kept[JOB_ID]] = JOBS
    if kept["ANSIBLE_CONFIG"] and os.path.realpath(kept["ANSIBLE_CONFIG"]) == os.path.realpath("ansible.cfg"):
        kept["ANSIBLE_CONFIG"] = None  # Ansible finds it here anyway
    return {name: value for name, value in kept.items() if value}


def _collections() -> str | None:
    """Return ANSIBLE_COLLECTIONS_PATH for the next command; None if Ansible finds the collection by its name anyway.

    Ansible also searches next to launch.yml, so launch.yml works from anywhere, but `muster.train.status` does not.
    """
    paths, origin = constants.config.get_config_value_and_origin("COLLECTIONS_PATHS")
    beside, name = Path(os.path.abspath(__file__)).parents[6], Path("ansible_collections", "muster", "train")
    installed = any(Path(path, name).is_dir() for path in paths)
    home = os.path.expanduser(os.environ.get("ANSIBLE_HOME") or "~/.ansible")
    by_default = (Path(home, "collections", name), Path("/usr/share/ansible/collections", name))
    if any(path.resolve() == COLLECTION for path in by_default):
        return None
    if installed and not origin.startswith("env"):
        return None
    return os.pathsep.join(([] if installed else [str(beside)]) + [path for path in paths if os.path.isdir(path)])


def is_verb() -> bool:
    """Whether this command is verbs of this collection alone, which say themselves what is wrong."""
    plays, places = context.CLIARGS.get("args") or (), (COLLECTION, COLLECTION / "playbooks")
    if isinstance(plays, str):  # the hosts of `ansible`
        return False
    names = [str(text) for text in plays]
    return bool(names) and all(
        text.startswith("muster.train.") or (text.endswith(".yml") and Path(text).resolve().parent in places)
        for text in names
    )


def _documented_variables() -> set[str]:
    """Return the variables of every entry point of every role of the collection."""
    return {
        name
        for specs in COLLECTION.glob("roles/*/meta/argument_specs.yml")
        for entry_point in yaml_load(specs.read_text(encoding="utf-8"))["argument_specs"].values()
        for name in (entry_point or {}).get("options") or {}
    }


def _version() -> str:
    """Return the collection's version: from galaxy.yml in a checkout, from MANIFEST.json where it is installed."""
    for name in ("MANIFEST.json", "galaxy.yml"):
        if text := read_text(COLLECTION / name):
            manifest = yaml_load(text)
            return str(manifest.get("collection_info", manifest)["version"])
    return "unknown"
