# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start torchrun so that its ranks write into the runner's pipes and its failures are told as data.

Placed beside the runner on the node and run by the training interpreter: the only file here that imports torch, and only
when it runs. Where this torch has not the API, plain torchrun runs and the ranks' output lands in the node's log.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import sys

# torch's own barrier at exit is 300 s: after it the head leaves, and its store with it, under peers that still train.
EXIT_BARRIER_S = 3600.0


def _use_pipes(config, logs, run_dir):
    """Send each rank's output to the pipe that the runner reads; error files go beside them."""
    errors = os.path.join(run_dir, "errors")

    class RankPipes(logs.LogsSpecs):
        root_log_dir = errors

        def reify(self, envs):
            pipes = {rank: os.path.join(run_dir, "pipes", "rank_%d" % rank) for rank in envs}
            files = {rank: os.path.join(errors, "rank_%d.json" % rank) for rank in envs}
            for rank, path in files.items():
                envs[rank]["TORCHELASTIC_ERROR_FILE"] = path
            return logs.LogsDest(pipes, pipes, {}, {}, files)

    config.logs_specs = RankPipes()


def _lengthen_exit_barrier(api):
    """Let the head's agent, which hosts the store, outstay its peers."""
    if "exit_barrier_timeout" in inspect.signature(api.LocalElasticAgent).parameters:
        api.LocalElasticAgent = functools.partial(api.LocalElasticAgent, exit_barrier_timeout=EXIT_BARRIER_S)


def _report(failures):
    """Tell the runner which ranks failed, earliest first."""
    records = [
        {
            "rank": rank,
            "local_rank": failure.local_rank,
            "code": failure.exitcode,
            "time": failure.timestamp,
            "error": failure.error_file_data,
        }
        for rank, failure in sorted(failures.items(), key=lambda item: item[1].timestamp)
    ]
    with os.fdopen(int(os.environ["MUSTER_REPORT_FD"]), "w") as stream:
        json.dump(records, stream)


def main(argv):
    """Run torchrun with these arguments; return its exit code."""
    from torch.distributed import run as torchrun
    from torch.distributed.elastic.multiprocessing import api as logs
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher import api

    args = torchrun.parse_args(argv)
    _lengthen_exit_barrier(api)
    run_dir = os.environ["MUSTER_RUN_DIR"]
    try:
        if not (os.path.isdir(os.path.join(run_dir, "pipes")) and hasattr(logs, "LogsSpecs")):
            torchrun.run(args)
            return 0
        config, command, command_args = torchrun.config_from_args(args)
        _use_pipes(config, logs, run_dir)
        api.elastic_launch(config=config, entrypoint=command)(*command_args)
    except ChildFailedError as error:
        _report(error.failures)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
