# SPDX-License-Identifier: GPL-3.0-or-later
"""Which options a user may give a launcher."""

from __future__ import annotations

import importlib

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._request.launcher_options import launcher_errors
from ansible_collections.muster.train.tests.support.requests import make

# Options of torchrun that nothing of a launch depends on.
FREE = {"monitor_interval", "start_method", "event_log_handler", "role", "numa_binding"}
PROGRAM = {"training_script", "training_script_args"}


def is_refused(launcher: str, word: str) -> bool:
    settings = make({"launcher": launcher})["parameters"]
    settings["launcher_args"]["value"] = [word]
    return bool(list(launcher_errors(settings)))


@pytest.mark.parametrize(
    "word",
    [
        # The runner's SIGTERM would end torchrun before its ranks.
        "--signals-to-handle=SIGUSR1",
        "--shutdown_timeout=600",
        "--local-addr=10.0.0.1",
        # The ranks' output is the runner's: torch finds no file for it.
        "--duplicate-stdout-filters=loss",
        "--duplicate_stderr_filters=loss",
        "--local-ranks-filter=0",
    ],
)
def test_the_ranks_signals_and_output_are_the_runner_s(word: str) -> None:
    assert is_refused("torchrun", word)
    assert is_refused("deepspeed", word)


def test_local_rank_of_deepspeed_is_that_of_the_variable() -> None:
    assert is_refused("deepspeed", "--virtual-local-rank")
    assert not is_refused("torchrun", "--virtual-local-rank")


@pytest.mark.slow
def test_each_option_of_this_torchrun_is_decided_or_free() -> None:
    parser = importlib.import_module("torch.distributed.run").get_args_parser()
    options = {action.dest for action in parser._actions} - PROGRAM
    assert {name for name in options if not is_refused("deepspeed", f"--{name}")} == FREE
    assert {name for name in options if not is_refused("torchrun", f"--{name}")} == {*FREE, "virtual_local_rank"}
