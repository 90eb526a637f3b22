# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong between the parameters of a verb, and between them and the inventory.

Parameters that could not be read are not in the settings, and are refused elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._findings.errors import display
from .benchmark import benchmark_errors
from .launcher_options import launcher_errors
from .nodes import Inventory
from .profiling import profiling_errors
from .settings import Setting
from .verbs import LAUNCHES


def contradictions(verb: str, settings: Mapping[str, Setting], inventory: Inventory) -> list[str]:
    """Return a line for each contradiction."""
    if verb in LAUNCHES:
        return [*launch_errors(settings, inventory), *benchmark_errors(settings)]
    lines = _node_errors(settings, inventory)
    errors_of = {
        "accept": lambda settings: launch_errors(settings, inventory),
        "discover": _discover_errors,
        "shell": _shell_errors,
        "note": _note_errors,
        "compare": _compare_errors,
        "import": _import_errors,
        "report": _report_errors,
        "scale": _scale_errors,
    }
    return lines + (errors_of[verb](settings) if verb in errors_of else [])


def launch_errors(settings: Mapping[str, Setting], inventory: Inventory) -> list[str]:
    """Return what is wrong between the parameters of a launch."""
    given = {name: setting for name, setting in settings.items() if setting["value"] is not None}
    observed = {name: f"saw {display(setting['value'])} ({setting['origin']})" for name, setting in given.items()}
    lines = []
    if "nnodes" in given and inventory.nodes and int(str(given["nnodes"]["value"])) > len(inventory.nodes):
        lines.append(
            f"nnodes: expected at most {len(inventory.nodes)}, the size of the group 'nodes', {observed['nnodes']}; "
            "add nodes to the inventory or give fewer"
        )
    if "script" in given and "module" in given:
        lines.append(
            f"script: expected a script or a module, {observed['script']} and {observed['module']}; give one of them"
        )
    if "config" in given and "config_name" in given:
        lines.append(
            f"config_name: expected config or config_name, {observed['config']} and {observed['config_name']}; give "
            "only one (an empty -e config= or -e config_name= removes the cluster's)"
        )
    # Without nodes there is no cluster whose launch_defaults could name a script.
    if inventory.nodes and all(name in settings and name not in given for name in ("script", "module")):
        lines.append(
            "script: neither a script nor a module is given; "
            "give -e script=PATH or -e module=NAME, or set one in the cluster's launch_defaults"
        )
    launcher, nproc = (given[name]["value"] if name in given else None for name in ("launcher", "nproc"))
    if launcher == "python" and nproc not in (None, 1):
        lines.append(
            f"nproc: the launcher python starts one rank per node, expected 1, {observed['nproc']}; "
            "give -e nproc=1 or -e launcher=torchrun"
        )
    return [*lines, *launcher_errors(settings), *profiling_errors(settings)]


def _node_errors(settings: Mapping[str, Setting], inventory: Inventory) -> list[str]:
    node, names = settings.get("node"), [host.name for host in inventory.hosts]
    if node is None or node["value"] in (None, *names):
        return []
    return [f"node: expected one of {', '.join(names)}, saw {display(node['value'])} ({node['origin']})"]


def _given(settings: Mapping[str, Setting], ways: Sequence[str]) -> str | None:
    """Return which of the ways are given, in words; None where it is one, or where one of them is refused anyway."""
    if not all(name in settings for name in ways):
        return None
    given = [name for name in ways if settings[name]["value"] is not None]
    return None if len(given) == 1 else " and ".join(given) or "neither"


def _shell_errors(settings: Mapping[str, Setting]) -> list[str]:
    given = _given(settings, ("rank", "node"))
    return [f"rank: expected a rank or a node, saw {given}; give -e rank=N or -e node=NAME"] if given else []


def _compare_errors(settings: Mapping[str, Setting]) -> list[str]:
    given = _given(settings, ("runs", "last"))
    how = "give -e runs=RUN_ID,RUN_ID or -e last=N"
    return [f"runs: expected run IDs or the number of the newest runs, saw {given}; {how}"] if given else []


def _report_errors(settings: Mapping[str, Setting]) -> list[str]:
    given = {name: setting["value"] for name, setting in settings.items() if setting["value"] is not None}
    ways = [name for name in ("run_id", "sweep", "over") if name in given]
    if len(ways) > 1:
        return [f"{ways[1]}: expected one of run_id, sweep and over, saw {' and '.join(ways)}; give one of them"]
    if not {"sweep", "over"} <= settings.keys():
        return []  # one of them is refused itself
    lines = []
    if "objective" in given and not {"sweep", "over"} & given.keys():
        lines.append(
            "objective: expected runs that are compared by it, saw none; give -e sweep=SWEEP_ID or -e over=NAME,NAME"
        )
    if "against" in given and given["against"] == given.get("sweep"):
        lines.append(
            f"against: expected another sweep than {given['sweep']}, saw the same; give one of the same parameters"
        )
    elif "against" in given and "sweep" not in given:
        lines.append("against: expected the sweep that is compared with it, saw none; give -e sweep=SWEEP_ID")
    for name in ("where", "last"):
        if name in given and "over" not in given:
            lines.append(f"{name}: it chooses among the runs that over compares, saw no over; give -e over=NAME,NAME")
    return lines


def _scale_errors(settings: Mapping[str, Setting]) -> list[str]:
    if "replicas" not in settings or settings["replicas"]["value"] is not None:
        return []
    return ["replicas: expected how many pods there are to be; give -e replicas=N"]


def _note_errors(settings: Mapping[str, Setting]) -> list[str]:
    if "note" not in settings or settings["note"]["value"] is not None:
        return []
    return ["note: expected a text, saw none; give -e \"note='TEXT'\""]


def _import_errors(settings: Mapping[str, Setting]) -> list[str]:
    if "source" not in settings or settings["source"]["value"] is not None:
        return []
    return ["source: expected the directory of the old experiments, saw none; give -e source=DIRECTORY"]


def _discover_errors(settings: Mapping[str, Setting]) -> list[str]:
    lines = []
    if "cluster" in settings and settings["cluster"]["value"] is None:
        lines.append("cluster: expected the name of the new inventory, saw none; give -e cluster=NAME")
    ways = ("nodes", "hosts", "node_list")
    if all(name in settings for name in ways) and sum(settings[name]["value"] is not None for name in ways) != 1:
        given = [name for name in ways if settings[name]["value"] is not None]
        lines.append(
            f"nodes: expected the hosts in one way, saw {' and '.join(given) or 'none'}; "
            "give -e nodes=HOST,HOST or -e node_list=FILE"
        )
    return lines
