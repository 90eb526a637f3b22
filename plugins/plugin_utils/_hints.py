# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands by which one goes on with a run. (`_hints.py` is private to the collection.)"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable

from ansible_collections.muster.train.plugins.plugin_utils._table import clean

# What a verb is for, in the words of a hint.
TITLES = {"follow": "follow again", "stop": "stop", "status": "status", "logs": "logs"}


def command(verb: str, run_id: str | None, typed: str | None) -> str:
    """Return the command of a verb; it works from a checkout and installed, and has the inventory that was typed."""
    words = ["ansible-playbook", *_inventories(typed), f"muster.train.{verb}"]
    return clean(shlex.join([*words, "-e", f"run_id={run_id}"] if run_id else words))


def hints(run_id: str, typed: str | None, verbs: Iterable[str]) -> list[tuple[str, str]]:
    """Return (title, command) for each verb."""
    return [(TITLES[verb], command(verb, run_id, typed)) for verb in verbs]


def _inventories(typed: str | None) -> list[str]:
    """Return the -i options of the command that was typed."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("-i", "--inventory", "--inventory-file", action="append", default=[], dest="inventories")
    try:
        known, _others = parser.parse_known_args(shlex.split(typed or ""))
    except (ValueError, argparse.ArgumentError):
        return []
    return [word for inventory in known.inventories for word in ("-i", inventory)]
