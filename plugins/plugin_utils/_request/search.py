# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong between the parameters by which a sweep chooses its combinations."""

from __future__ import annotations

from collections.abc import Mapping

from .._findings.errors import display
from .._findings.origin import Layer
from .conditions import parse_order
from .settings import Setting
from .verbs import GRID, TPE

# What is known of a run while it goes on.
MEASURED = ("loss", "tokens_per_s", "samples_per_s", "steps_per_s")
NAMING = "give -e objective=loss, or -e objective=-tokens_per_s for the largest"


def search_errors(settings: Mapping[str, Setting], count: int) -> list[str]:
    """Return a line for each contradiction; count is the number of combinations."""
    if not {"search", "trials", "prune", "objective"} <= settings.keys():
        return []  # one of them is refused itself
    search, trials, prune = (settings[name]["value"] for name in ("search", "trials", "prune"))
    objective = settings["objective"]
    name, is_named = parse_order(str(objective["value"])).name, objective["layer"] == Layer.EXTRA_VARS
    lines = []
    if trials is not None and search == GRID:
        lines.append(
            f"trials: search=grid runs all {count} combinations, saw {trials}; give -e search=tpe or -e search=random, "
            "or leave trials out"
        )
    elif trials is not None and int(str(trials)) > count:
        lines.append(
            f"trials: the grid has only {count} combination{'s' if count > 1 else ''}, saw {trials}; "
            "give -e search=grid, which runs all of them, or fewer trials"
        )
    if search == TPE and not is_named:
        lines.append(f"objective: search=tpe looks for the best value of an objective, saw none; {NAMING}")
    if prune and not is_named:
        lines.append(f"objective: prune=true compares the values of an objective, saw none; {NAMING}")
    elif prune and name not in MEASURED:
        lines.append(
            f"prune: expected an objective that is known while a run goes on, one of {', '.join(MEASURED)}, "
            f"saw {display(name)} ({objective['origin']}); give another objective or leave prune out"
        )
    return lines
