# SPDX-License-Identifier: GPL-3.0-or-later
"""A profiler where the ranks run, on the node or in a container: how it is started, and the version it prints."""

from __future__ import annotations

from collections.abc import Sequence

from .._host.budget import Budget
from .._host.host import Host
from .._records.system import ProfilerTool
from .._text.printable import clean
from .tools import parse_version

# By profiler, the start of what it prints of its version, and where its packages put it without a link in the PATH.
PROFILERS = {
    "rocprofv3": ("version:", "/opt/rocm/bin"),
    "nsys": ("NVIDIA Nsight Systems version", "/usr/local/cuda/bin"),
}
# rocprofv3 is a Python program; a container takes 0.4 s to start, and longer only if the image is pulled.
TIMEOUT_S, CONTAINER_S = 3.0, 8.0
# What runc and crun answer, through the engine, if the entrypoint is not in the container.
ABSENT = ("executable file not found", "no such file or directory")


def read_profiler(host: Host, program: str) -> ProfilerTool:
    """Return the profiler of this user's PATH, or of its package's own directory."""
    begins, folder = PROFILERS[program]
    path = host.which(program) or host.which(f"{folder}/{program}")
    if path is None:
        return ProfilerTool()
    result = Budget(host).run([path, "--version"], TIMEOUT_S)
    return ProfilerTool(path, parse_version(result.out.strip(), begins))


def read_profiler_inside(host: Host, program: str, run: Sequence[str], service: str) -> ProfilerTool:
    """Return the profiler of a compose service's containers; run starts one of them and takes options."""
    result = Budget(host).run([*run, "--rm", "--no-TTY", "--entrypoint", program, service, "--version"], CONTAINER_S)
    if result.rc == 0:
        return ProfilerTool(program, parse_version(result.out.strip(), PROFILERS[program][0]))
    if result.rc is not None and any(text in result.err for text in ABSENT):
        return ProfilerTool()
    return ProfilerTool(why=clean(f"{run[0]} compose run: {result.why(CONTAINER_S)}"))
