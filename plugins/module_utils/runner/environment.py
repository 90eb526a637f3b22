# SPDX-License-Identifier: GPL-3.0-or-later
"""The launcher's environment: on the login's, or in a container on the container's own."""

from __future__ import annotations

import os
import pwd
from typing import Any

from .._records.job import Job
from .._records.layout import SITE
from .inherited import base_environment


def environment_of(job: Job, private: dict[str, Any]) -> dict[str, str]:
    """Return the launcher's environment: what is inherited, who the user is, the secrets, and what the plan sets."""
    inherited = private.get("environment")
    environment = base_environment(dict(os.environ)) if inherited is None else dict(inherited)
    try:
        user = pwd.getpwuid(os.getuid())
        name, home = user.pw_name, user.pw_dir
    except KeyError:  # a uid that the container doesn't know
        name, home = str(os.getuid()), job.workdir
    environment.setdefault("HOME", home)
    for variable in ("USER", "LOGNAME"):
        environment.setdefault(variable, name)
    environment.update(private.get("secrets") or {})
    for item in job.environment:
        if not item.fills_gap:
            environment[item.name] = item.value
        else:
            environment.setdefault(item.name, item.value)
    # `python -m` looks for modules in the directory in which it starts.
    code = [job.code_dir] if job.cwd != job.code_dir else []
    path = environment.get("PYTHONPATH")
    site = os.path.join(job.run_dir, SITE)
    environment["PYTHONPATH"] = os.pathsep.join([site, *code, *([path] if path else [])])
    return environment
