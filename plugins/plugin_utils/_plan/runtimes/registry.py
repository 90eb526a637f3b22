# SPDX-License-Identifier: GPL-3.0-or-later
"""Runtimes: what wraps the command on a node. A new one is a file here and a name below."""

from __future__ import annotations

from . import apptainer, docker, host
from .base import Runtime

RUNTIMES: dict[str, Runtime] = {
    "host": Runtime(host.execution, host.facts_inside_runtime),
    "docker": Runtime(docker.execution, docker.facts_inside_runtime),
    "apptainer": Runtime(apptainer.execution, apptainer.facts_inside_runtime),
}
