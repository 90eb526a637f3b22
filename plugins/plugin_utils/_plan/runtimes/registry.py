# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runtimes: what wraps the command on a node. A runtime is a file with the same functions as its siblings."""

from __future__ import annotations

from . import docker, host
from .base import Runtime

RUNTIMES: dict[str, Runtime] = {
    "host": Runtime(host.way, host.as_ranks_see_it),
    "docker": Runtime(docker.way, docker.as_ranks_see_it),
}
