# SPDX-License-Identifier: GPL-3.0-or-later
"""The parameters of every verb: names, types, ranges, defaults. How a value is read is in `parameters.py`."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._records.transport import WARN

from . import run_ids
from .parameters import Parameter

# Limits of channels: NCCL 64 (32 before 2.25), RCCL's MAXCHANNELS 128 (device.h); only the plan knows the vendor.
# Limits of threads: tuning.cc getNthreads takes multiples of a warp (32 NVIDIA, 64 AMD) from 64 to 512 (RCCL: to 256).
CHANNELS_MAXIMUM, THREADS_MINIMUM, THREADS_MAXIMUM, WARP = 128, 64, 512, 64

# Those whose ranks torchrun starts, and the others.
BY_TORCHRUN = ("torchrun", "accelerate", "deepspeed")
LAUNCHERS = (*BY_TORCHRUN, "python", "exec")

RUN_ID_PARAMETER = Parameter("run_id", "run_id", per_run=True)  # not given: the newest run
MODE = Parameter("mode", "choice", default="auto", choices=("auto", "rdma", "tcp"))
PAGE = Parameter("page", "file")
ALL = Parameter("all", "bool", default=False)  # a row for each node, however many are alike
NODE = Parameter("node", "node")
NNODES = Parameter("nnodes", "int", minimum=1, maximum=65536)
RANK = Parameter("rank", "int", maximum=1_000_000)
OUTPUT = Parameter("output", "choice", default="table", choices=("table", "json"), per_run=True)
# A line for each change, and the document as the last one.
LIVE_OUTPUT = Parameter("output", "choice", default="table", choices=("table", "json", "jsonl"), per_run=True)
# Which runs of the list.
WHERE, LAST = Parameter("where", "conditions"), Parameter("last", "int", minimum=1, maximum=1_000_000)
# Shown below the progress.
LAST_LINES = Parameter("lines", "int", default=0, maximum=50)

# The parts of a verb that --tags selects; the tasks of the other verbs have no tags.
TAGS = {"setup": ("openshift", "memlock", "firewall", "code", "container", "apptainer")}

# The verbs that make the nodes, or remove them, where these are pods: there may be none yet.
DEPLOYING = ("setup", "scale", "teardown")

VERBS: dict[str, tuple[Parameter, ...]] = {
    "launch": (
        Parameter("channels", "int", minimum=1, maximum=CHANNELS_MAXIMUM, environment="CHANNELS"),
        Parameter(
            "threads", "int", minimum=THREADS_MINIMUM, maximum=THREADS_MAXIMUM, multiple=WARP, environment="THREADS"
        ),
        Parameter("nproc", "int", minimum=1, maximum=1024, environment="NPROC_PER_NODE"),
        NNODES,
        Parameter("config", "path", environment="CONFIG_FILE"),
        Parameter("config_name", "config_name"),
        Parameter("config_option", "config_option", default="--config", expanded=True),
        Parameter("script", "path"),
        Parameter("module", "module"),
        Parameter("script_args", "arguments", default=[], expanded=True),
        Parameter("launcher", "choice", default="torchrun", choices=LAUNCHERS),
        Parameter("launcher_args", "arguments", default=[], expanded=True),
        Parameter("label", "label", environment="LABEL"),
        Parameter("master_port", "int", minimum=1024, maximum=65535, environment="MASTER_PORT"),
        Parameter("max_restarts", "int", default=0, maximum=100),
        Parameter("env", "environment", default={}, expanded=True),
        Parameter("follow", "bool", default=True),
        Parameter("sync", "bool", default=False),
        Parameter("wait", "seconds", minimum=1, maximum=86400),
        ALL,
        Parameter("rocprof", "bool", default=False),
        Parameter("stats", "bool", default=False),
        Parameter("rocprof_input", "path"),
        Parameter("nsys", "bool", default=False),
        Parameter("profiler_args", "arguments", default=[]),
        Parameter("profile_ranks", "ranks"),
        Parameter("metrics_pattern", "pattern"),
        Parameter("on_end", "on_end"),
        LAST_LINES,
        Parameter("time_limit", "seconds", minimum=1, maximum=365 * 86400),
        Parameter("hang_watch", "seconds", default=120, maximum=86400),
        Parameter("hang_action", "choice", default="warn", choices=("warn", "stop", "keep")),
        Parameter("telemetry", "seconds", default=10, maximum=86400),
        Parameter("verify_transport", "transport", default=WARN),
        MODE,
        PAGE,
        LIVE_OUTPUT,
        RUN_ID_PARAMETER,
    ),
    "status": (RUN_ID_PARAMETER, ALL, OUTPUT),
    "logs": (
        RUN_ID_PARAMETER,
        OUTPUT,
        Parameter("lines", "int", default=50, minimum=1, maximum=100_000),
        NODE,
        RANK,
        Parameter("grep", "regex"),
        Parameter("follow", "bool", default=False),
    ),
    "shell": (RUN_ID_PARAMETER, RANK, NODE, OUTPUT),
    "stacks": (RUN_ID_PARAMETER, RANK, OUTPUT),
    "follow": (RUN_ID_PARAMETER, LAST_LINES, ALL, LIVE_OUTPUT),
    "stop": (RUN_ID_PARAMETER, ALL, OUTPUT),
    "collect": (RUN_ID_PARAMETER, ALL, OUTPUT),
    "list": (
        RUN_ID_PARAMETER,
        WHERE,
        Parameter("sort", "order"),
        LAST,
        Parameter("output", "choice", default="table", choices=("table", "json", "csv"), per_run=True),
    ),
    "note": (RUN_ID_PARAMETER, Parameter("note", "note", per_run=True), OUTPUT),
    "compare": (
        Parameter("runs", "run_ids", per_run=True),
        Parameter("last", "int", minimum=run_ids.FEWEST, maximum=run_ids.MOST),
        OUTPUT,
    ),
    "import": (Parameter("source", "file", per_run=True), OUTPUT),
    "report": (
        RUN_ID_PARAMETER,
        Parameter("sweep", "sweep_id", per_run=True),
        Parameter("against", "sweep_id", per_run=True),
        Parameter("over", "names", per_run=True),
        WHERE,
        LAST,
        Parameter("objective", "order", per_run=True),
        OUTPUT,
    ),
    "doctor": (RUN_ID_PARAMETER, Parameter("file", "file", per_run=True), OUTPUT),
    "gpus": (ALL, OUTPUT),
    "detect": (OUTPUT, PAGE, MODE),
    "rdma": (NODE, OUTPUT, PAGE, MODE),
    "discover": (
        Parameter("cluster", "name"),
        Parameter("nodes", "hosts"),
        Parameter("hosts", "hosts"),  # the same; Ansible warns that the name is reserved
        Parameter("node_list", "file"),
        Parameter("user", "user"),
        Parameter("accept_keys", "bool", default=False),
        Parameter("force", "bool", default=False),
        OUTPUT,
    ),
    "setup": (OUTPUT, PAGE, MODE),  # page and mode are those of the preflight at its end
    "scale": (Parameter("replicas", "int", maximum=65536, per_run=True), OUTPUT),
    "teardown": (
        Parameter("images", "bool", default=False),
        Parameter("volumes", "bool", default=False),
        Parameter("days", "int", maximum=36500),
        OUTPUT,
    ),
    "preflight": (NNODES, OUTPUT, PAGE, MODE),
}

# A benchmark and a measurement of pairs are launches of Muster's own programs. What that decides is not among their
# parameters, nor what only other programs need.
PROGRAMS = ("benchmark", "pairs")
LAUNCHES = ("launch", *PROGRAMS)
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_recv")
GIB = 1 << 30
DECIDED_BY_PROGRAM = (
    *("config", "config_name", "config_option", "script", "module", "script_args", "launcher", "launcher_args"),
    *("max_restarts", "rocprof", "stats", "rocprof_input", "nsys", "profiler_args", "profile_ranks"),
    *("metrics_pattern", "follow", "sync", "wait", "page", "run_id"),
)
BACKEND = Parameter("backend", "choice", default="auto", choices=("auto", "nccl", "gloo"))
OF_PROGRAMS = tuple(parameter for parameter in VERBS["launch"] if parameter.name not in DECIDED_BY_PROGRAM)
VERBS["benchmark"] = (
    Parameter("collective", "choice", default="all_reduce", choices=COLLECTIVES),
    Parameter("scope", "choice", default="all", choices=("all", "rails", "nodes")),
    Parameter("min_bytes", "bytes", default=8, minimum=1, maximum=64 * GIB),
    Parameter("max_bytes", "bytes", minimum=1, maximum=64 * GIB),
    Parameter("factor", "int", default=2, minimum=2, maximum=1024),
    Parameter(
        "dtype", "choice", default="float32", choices=("float32", "float16", "bfloat16", "float64", "int32", "int8")
    ),
    Parameter("warmup", "int", default=5, maximum=10_000),
    Parameter("iterations", "int", default=20, minimum=1, maximum=100_000),
    Parameter("check", "bool", default=True),
    BACKEND,
    *OF_PROGRAMS,
)
VERBS["pairs"] = (
    Parameter("rounds", "int", minimum=1, maximum=1000),
    Parameter("bytes", "bytes", minimum=1, maximum=64 * GIB),
    Parameter("tolerance", "int", default=20, minimum=1, maximum=1000),
    Parameter("pair_limit", "int", default=30, minimum=10, maximum=3600),
    BACKEND,
    *OF_PROGRAMS,
)
# The stages of an acceptance are a preflight, benchmarks and a search among pairs, which it names and shows itself.
DECIDED_BY_ACCEPTANCE = ("label", "all", "on_end", "lines", "output")
VERBS["accept"] = (
    *(parameter for parameter in VERBS["benchmark"] if parameter.name in ("max_bytes", "iterations")),
    *(parameter for parameter in VERBS["pairs"] if parameter.name in ("rounds", "tolerance")),
    BACKEND,
    *(parameter for parameter in OF_PROGRAMS if parameter.name not in DECIDED_BY_ACCEPTANCE),
    OUTPUT,
)

# How a sweep chooses its combinations, the default first.
GRID, RANDOM, TPE = SEARCHES = ("grid", "random", "tpe")
# Each run of a sweep is a launch. What a sweep decides or shows itself is not among its parameters.
DECIDED_BY_SWEEP = ("follow", "all", "lines", "page", "output", "run_id")
VERBS["sweep"] = (
    Parameter("sweep", "axes"),
    Parameter("repeat", "int", default=1, minimum=1, maximum=1000),
    Parameter("shuffle", "bool", default=False),
    Parameter("objective", "order", default="loss"),
    Parameter("search", "choice", default=GRID, choices=SEARCHES),
    Parameter("trials", "int", minimum=1, maximum=1_000_000),
    Parameter("prune", "bool", default=False),
    Parameter("max_failures", "int", minimum=1, maximum=1_000_000),
    Parameter("pause", "seconds", minimum=1, maximum=86400),
    Parameter("confirm_points", "bool", default=False),
    Parameter("preflight", "bool", default=True),
    *(parameter for parameter in VERBS["launch"] if parameter.name not in DECIDED_BY_SWEEP),
    OUTPUT,
)

# A submitted launch is followed by its job. Its nodes are those of the job, so nnodes is how many that gets.
DECIDED_BY_JOB = ("follow", "all", "wait", "lines", "page", "output")
OF_SBATCH = (
    Parameter("partition", "slurm"),
    Parameter("time", "slurm_time"),
    Parameter("account", "slurm"),
    Parameter("qos", "slurm"),
    Parameter("reservation", "slurm"),
    Parameter("constraint", "slurm"),
    Parameter("exclude", "slurm"),
    Parameter("gpus", "int", minimum=1, maximum=1024),
    Parameter("gres", "slurm"),
    Parameter("exclusive", "bool", default=True),
    Parameter("sbatch_options", "sbatch_options", default=[]),
)
VERBS["submit"] = (
    *OF_SBATCH,
    *(parameter for parameter in VERBS["launch"] if parameter.name not in DECIDED_BY_JOB),
    OUTPUT,
)


def parameter_names(verb: str) -> list[str]:
    """Return the names of a verb's parameters."""
    return [parameter.name for parameter in VERBS[verb]]
