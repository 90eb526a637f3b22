# SPDX-License-Identifier: GPL-3.0-or-later
"""A request for tests: made of two nodes on a fixed day, or refused on lines that a terminal can show."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._request.command_line import CommandLine
from ansible_collections.muster.train.plugins.plugin_utils._request.nodes import Inventory, InventoryHost
from ansible_collections.muster.train.plugins.plugin_utils._request.request import (
    InvalidRequest,
    Request,
    make_request,
)
from ansible_collections.muster.train.plugins.plugin_utils._request.settings import Refusal

RUN_ID = "multinode_42ch_256th_20261120_143052"


def inventory(*names: str) -> Inventory:
    return Inventory(tuple(InventoryHost(name) for name in names))


LINE = CommandLine(
    argv=("/venv/bin/ansible-playbook", "launch.yml", "-e", "channels=42"),
    options=(("channels=42", {"channels": 42}),),
    documented=("launch_workdir", "launch_secrets"),
    inventories=("/clusters/lab/hosts.yml",),
    host="laptop",
    user="ada",
    versions={"muster": "0.1.0", "ansible_core": "2.19.14", "python": "3.11.7"},
    now=datetime(2026, 11, 20, 14, 30, 52, tzinfo=UTC),
    nonce="0" * 32,
)


def make(
    extra_vars: dict[str, Any] | None = None,
    environment: dict[str, str] | None = None,
    defaults: object = None,
    *,
    verb: str = "launch",
    nodes: Inventory | None = None,
    script: bool = True,
    experiments: str = "/home/ann/experiments",
    earlier: object = None,
    **line: Any,
) -> Request:
    """Return a request; line is what the command line has that differs from LINE."""
    if script and verb == "launch" and defaults is None:
        defaults = {"script": "train.py"}
    return make_request(
        verb,
        dataclasses.replace(LINE, environment=environment or {}, **line),
        extra_vars=extra_vars or {},
        defaults=defaults if defaults is not None else {},
        inventory=nodes or inventory("node0", "node1"),
        experiments=experiments,
        earlier=earlier,
    )


def reasons(*args: Any, **kwargs: Any) -> tuple[str | Refusal, ...]:
    """Why such a request is refused: each reason is one line that a terminal can show."""
    with pytest.raises(InvalidRequest) as caught:
        make(*args, **kwargs)
    lines = str(caught.value).split("\n")
    assert len(lines) == len(caught.value.reasons)
    assert all(line and line.isprintable() for line in lines)
    return caught.value.reasons


def lines_of(*args: Any, **kwargs: Any) -> list[str]:
    """The same as a user reads it."""
    return str(InvalidRequest(reasons(*args, **kwargs))).split("\n")


# The parameter of a refusal and the layer that gave its value; None where only the text has them.
Outcome = tuple[str | None, str | None]


def refusals(*args: Any, **kwargs: Any) -> list[Outcome]:
    """What the refusals of such a request say to a program."""
    return [
        (reason.name, reason.origin.layer.value if reason.origin else None)
        if isinstance(reason, Refusal)
        else (None, None)
        for reason in reasons(*args, **kwargs)
    ]


@dataclasses.dataclass(frozen=True)
class RefusedRequest:
    """A case by its name, the arguments of `make`, and the refusals; its lines are in tests/screens/messages."""

    name: str
    outcomes: list[Outcome]
    args: tuple[Any, ...]
    options: dict[str, Any]

    def refusals(self) -> list[Outcome]:
        return refusals(*self.args, **self.options)

    def lines(self) -> list[str]:
        return lines_of(*self.args, **self.options)

    def __str__(self) -> str:
        return self.name


def refused(name: str, outcome: Outcome, *args: Any, **options: Any) -> RefusedRequest:
    """A request that is refused for one reason."""
    return RefusedRequest(name, [outcome], args, options)


# A reason that is a text only.
NAMELESS: Outcome = (None, None)
