# SPDX-License-Identifier: GPL-3.0-or-later
"""What the ranks get for NCCL and PyTorch without any launch setting it: the login's variables and NCCL's files.

The files as NCCL and RCCL read them (initEnvFunc and setEnvFile in src/misc/param.cc): a variable of the environment
wins, then the first file that has it, and in a file the first line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from .._host.host import Host
from .._host.live import LiveHost
from .._records.system import Inherited
from .._text.library_conf import parse_lines

_NAME = re.compile(r"(?:NCCL|RCCL|GLOO|TORCH|CUDA|HIP|ROCR)_[A-Za-z0-9_]+", re.ASCII)
# NVIDIA's images say by it what they hold; no library reads it.
_NOT_READ = ("NCCL_VERSION",)
_FILE_LIMIT = 1 << 20
LIBRARIES = ("nccl", "rccl")


def select(variables: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the variables for NCCL, RCCL, Gloo, PyTorch, CUDA, HIP and ROCr, sorted by name; of one name the first."""
    kept: dict[str, str] = {}
    for name, value in variables:
        if _NAME.fullmatch(name) and name not in _NOT_READ:
            # As the library gets it, control characters and all; JSON has only no bytes that are not UTF-8.
            kept.setdefault(name, value.encode("utf-8", "surrogatepass").decode("utf-8", "replace"))
    return dict(sorted(kept.items()))


def parse_conf(text: str) -> dict[str, str]:
    """Return the variables of an nccl.conf: lines NAME=value, of which nothing is trimmed."""
    return select(parse_lines(text).items())


def read_conf(host: Host, library: str, path: str, label: str, in_container: bool = False) -> list[Inherited]:
    """Return the variables of a library's file, nothing where there are none."""
    variables = parse_conf(host.read_text(path, _FILE_LIMIT) or "")
    return [Inherited(library, label, variables, in_container)] if variables else []


def read_inherited(host: LiveHost) -> list[Inherited]:
    """Return what processes of this login inherit, the strongest first."""
    environment = host.environment()
    variables = select(environment.items())
    inherited = [Inherited("login", "login", variables)] if variables else []
    for library in LIBRARIES:
        # NCCL takes the home from the user database (userHomeDir), not from $HOME.
        user_file = environment.get("NCCL_CONF_FILE") or os.path.join(host.home(), f".{library}.conf")
        for path in (user_file, f"/etc/{library}.conf"):
            inherited += read_conf(host, library, path, path)
    return inherited
