# SPDX-License-Identifier: GPL-3.0-or-later
"""Start torchrun with a shorter wait for its peers at the end: SECONDS instead of five minutes.

usage: hasty.py SECONDS FILE|torchrun ARGUMENTS…

The clock is torch's default for the barrier at exit (elastic/agent/server/local_elastic_agent.py).
"""

from __future__ import annotations

import inspect
import runpy
import sys

from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent

start = LocalElasticAgent.__init__
parameters = [one for one in inspect.signature(start).parameters.values() if one.default is not inspect.Parameter.empty]
seconds, program = float(sys.argv[1]), sys.argv[2]
start.__defaults__ = tuple(seconds if one.name == "exit_barrier_timeout" else one.default for one in parameters)
sys.argv[:] = sys.argv[2:]
if program == "torchrun":
    runpy.run_module("torch.distributed.run", run_name="__main__")
else:
    runpy.run_path(program, run_name="__main__")
