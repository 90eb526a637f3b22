# SPDX-License-Identifier: GPL-3.0-or-later
"""Can the training interpreter of a node start the script?"""

from __future__ import annotations

import shlex

from .._cluster.node import Node
from .._findings.remedy import sentence
from .._text.table import names
from .code import copy_again
from .model import IN_CONTAINER, Cluster, Outcome, failed, passed, skipped, unavailable
from .start import SET_PYTHON


def script(node: Node, cluster: Cluster) -> Outcome:
    """Find nodes whose interpreter cannot compile the script, or does not have the modules that it imports first."""
    state, interpreter = node.facts.script, node.facts.python.path
    if not cluster.on_host:
        return skipped(IN_CONTAINER)
    if state is None or interpreter is None or "script" not in cluster.launch.files:
        return skipped("there is no script in Python")
    _path, source = cluster.launch.files["script"]
    if state.why:
        return unavailable(f"{state.path} could not be checked", "script", state.why)
    if state.fault is not None:
        place = state.path if state.line is None else f"{state.path}:{state.line}"
        remedy = sentence("correct the script, and ", copy_again(cluster.launch.invocation))
        return failed(f"{place}: {state.fault}", f"a script that {interpreter} can compile", source, remedy)
    if state.missing:
        plural = "s" if len(state.missing) > 1 else ""
        return failed(
            f"{interpreter} has no module{plural} {names(state.missing)}",
            f"the modules that {state.path} imports",
            source,
            f"install their packages there with {shlex.quote(interpreter)} -m pip install, or {SET_PYTHON}",
        )
    return passed(state.path, source)
