# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parameters of every verb: names, types, ranges, defaults.

This is the only place that knows them; `_parameters.py` knows how a value of each type is read.
"""

from __future__ import annotations

from .parameters import Parameter

# Limits of channels: NCCL 64 (32 before 2.25), RCCL's MAXCHANNELS 128 (device.h); only the plan knows the vendor.
# Limits of threads: tuning.cc getNthreads takes multiples of a warp (32 NVIDIA, 64 AMD) from 64 to 512 (RCCL: to 256).
CHANNELS_MAXIMUM, THREADS_MINIMUM, THREADS_MAXIMUM, WARP = 128, 64, 512, 64

RUN_ID = Parameter("run_id", "run_id", "The run; the newest where not given.", per_run=True)
MODE = Parameter("mode", "choice", "The fabric.", default="auto", choices=("auto", "rdma", "tcp"))

VERBS: dict[str, tuple[Parameter, ...]] = {
    "launch": (
        Parameter(
            "channels",
            "int",
            "NCCL channels, both the least and the most; unset, NCCL decides.",
            minimum=1,
            maximum=CHANNELS_MAXIMUM,
            environment="CHANNELS",
        ),
        Parameter(
            "threads",
            "int",
            "Threads of one NCCL block; unset, NCCL decides.",
            minimum=THREADS_MINIMUM,
            maximum=THREADS_MAXIMUM,
            multiple=WARP,
            environment="THREADS",
        ),
        Parameter(
            "nproc", "int", "Ranks per node; unset, one per GPU.", minimum=1, maximum=1024, environment="NPROC_PER_NODE"
        ),
        Parameter("nnodes", "int", "How many of the group's nodes, from the first.", minimum=1, maximum=65536),
        Parameter("config", "path", "Configuration given to the script as --config.", environment="CONFIG_FILE"),
        Parameter("script", "path", "Training script, relative to the code directory."),
        Parameter("module", "module", "Python module to run instead of a script."),
        Parameter(
            "script_args", "arguments", "Arguments of the script, a list or one line in shell quoting.", default=[]
        ),
        Parameter("launcher", "choice", "What starts the ranks.", default="torchrun", choices=("torchrun", "python")),
        Parameter("label", "label", "Suffix of the run id.", environment="LABEL"),
        Parameter(
            "master_port",
            "int",
            "Port of the rendezvous on the head; unset, a free one.",
            minimum=1024,
            maximum=65535,
            environment="MASTER_PORT",
        ),
        Parameter("max_restarts", "int", "Restarts of the whole run after a failure.", default=0, maximum=100),
        Parameter("env", "environment", "Environment variables of the ranks.", default={}),
        Parameter("follow", "bool", "Show the progress until the run ends.", default=True),
        Parameter("time_limit", "seconds", "Longest time the run may take.", minimum=1, maximum=365 * 86400),
        MODE,
        RUN_ID,
    ),
    "status": (RUN_ID,),
    "logs": (
        RUN_ID,
        Parameter("lines", "int", "Last lines to show.", default=50, minimum=1, maximum=100_000),
        Parameter("node", "node", "Only this node."),
        Parameter("rank", "int", "Only this rank.", maximum=1_000_000),
    ),
    "follow": (RUN_ID,),
    "stop": (RUN_ID,),
    "collect": (RUN_ID,),
    "list": (RUN_ID,),
    "detect": (
        Parameter("output", "choice", "What is printed.", default="table", choices=("table", "json")),
        Parameter("page", "file", "Where the page is written; the same name with .json is the document."),
        MODE,
    ),
    "discover": (
        Parameter("cluster", "name", "Name of the new inventory, a directory below inventories/."),
        Parameter("nodes", "hosts", "The hosts in node-rank order: a list, with ranges such as gpu[01-16]."),
        Parameter("hosts", "hosts", "The same; Ansible warns that the name is its own."),
        Parameter("node_list", "file", "A node_ip_list.txt with the hosts, the head first."),
        Parameter("user", "user", "Who logs in there, where a host does not say it itself."),
        Parameter("accept_keys", "bool", "Trust the host keys without being asked.", default=False),
        Parameter("force", "bool", "Write over an inventory.", default=False),
    ),
    "teardown": (
        Parameter("images", "bool", "Remove the image of the cluster's container too.", default=False),
        Parameter("days", "int", "Remove run directories that ended so many days ago or more.", maximum=36500),
    ),
    "preflight": (Parameter("output", "choice", "What is printed.", default="table", choices=("table", "json")), MODE),
}
