# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with the options that a user gives the launcher."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .._findings.errors import display
from .settings import Setting

# Options that the plan or the runner decides (torch/distributed/run.py, accelerate/commands/launch.py), with '_'.
OF_TORCHRUN = (
    *("nnodes", "nproc_per_node", "node_rank", "master_addr", "master_port", "standalone", "max_restarts"),
    *("rdzv_backend", "rdzv_endpoint", "rdzv_id", "rdzv_conf", "log_dir", "logs_specs", "redirects", "tee"),
    *("local_addr", "signals_to_handle", "shutdown_timeout", "local_ranks_filter"),
    *("duplicate_stdout_filters", "duplicate_stderr_filters", "module", "no_python", "run_path", "help"),
)
OF_ACCELERATE = (
    *("num_machines", "num_processes", "machine_rank", "main_process_ip", "main_process_port", "same_network"),
    *("gpu_ids", "max_restarts", "monitor_interval", "role", "rdzv_backend", "rdzv_conf", "log_dir", "tee"),
    *("deepspeed_multinode_launcher", "deepspeed_hostfile", "deepspeed_inclusion_filter"),
    *("deepspeed_exclusion_filter", "mpirun_hostfile", "mpirun_ccl", "tpu", "tpu_cluster", "no_tpu_cluster"),
    *("module", "no_python", "help"),
)
DECIDED = {
    "torchrun": OF_TORCHRUN,
    "accelerate": OF_ACCELERATE,
    # DeepSpeed compares --local_rank with the variable LOCAL_RANK (runtime/engine.py).
    "deepspeed": (*OF_TORCHRUN, "virtual_local_rank"),
}


def launcher_errors(settings: Mapping[str, Setting]) -> Iterator[str]:
    """Yield what is wrong; settings lack parameters that could not be read."""
    if not {"launcher", "launcher_args"} <= settings.keys() or not settings["launcher_args"]["value"]:
        return
    launcher, setting = settings["launcher"]["value"], settings["launcher_args"]
    words = [str(word) for word in setting["value"]] if isinstance(setting["value"], list) else []
    observed = f"saw {{}} ({setting['origin']})"
    if launcher not in DECIDED:
        yield (
            f"launcher_args: the launcher {launcher} takes no options, {observed.format(display(words))}; "
            f"give -e launcher_args=, or -e launcher=NAME with one of {', '.join(DECIDED)}"
        )
        return
    if wrong := [word for word in words if not word.startswith("--") or word == "--"]:
        # A word of its own could be taken for the program.
        expected = "options as --NAME or --NAME=VALUE"
        yield f"launcher_args: expected {expected}, {observed.format(display(wrong))}; write a value behind '='"
    if taken := [word for word in words if word not in wrong and _is_one_of(word, DECIDED[launcher])]:
        yield (
            f"launcher_args: expected none of the options that the launch decides for {launcher}, "
            f"{observed.format(display(taken))}; leave {'it' if len(taken) == 1 else 'them'} out"
        )


def _is_one_of(word: str, names: tuple[str, ...]) -> bool:
    """Return whether a word is one of these options; torchrun also takes the beginning of a name."""
    name = word[2:].partition("=")[0].replace("-", "_")
    return any(taken.startswith(name) for taken in names)
