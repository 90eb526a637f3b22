# SPDX-License-Identifier: GPL-3.0-or-later
"""The launcher's environment: on the login's, in a container on the container's own, in an image on the image's."""

from __future__ import annotations

import os
import pwd
from typing import Any

from .._records.job import APPTAINER, VISIBLE_DEVICES, Job
from .._records.layout import SITE
from .inherited import OF_SLURM_JOB, base_environment


def environment_of(job: Job, private: dict[str, Any]) -> dict[str, str]:
    """Return the launcher's environment: what is inherited, who the user is, the secrets, and what the plan sets.

    In an image the rest is the image's own; only the scheduler's choice of GPUs and its job are inherited.
    """
    environment = _inherited(private)
    if job.runtime == APPTAINER:
        environment = {
            name: value for name, value in environment.items() if name in OF_SLURM_JOB or name.endswith(VISIBLE_DEVICES)
        }
    try:
        user = pwd.getpwuid(os.getuid())
        name, home = user.pw_name, user.pw_dir
    except KeyError:  # a uid that the container doesn't know
        name, home = str(os.getuid()), job.workdir
    if job.runtime != APPTAINER:  # which sets it itself, by its options
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


def environments_of(job: Job, private: dict[str, Any]) -> tuple[dict[str, str], dict[str, str] | None]:
    """Return the launcher's environment, and that of Apptainer itself where the launcher starts in an image.

    Apptainer's is the login's, with the marks by which the run's processes are found.
    """
    environment = environment_of(job, private)
    if job.runtime != APPTAINER:
        return environment, None
    marks = {name: value for name, value in environment.items() if name.startswith("MUSTER_")}
    return environment, {**_inherited(private), **marks}


def _inherited(private: dict[str, Any]) -> dict[str, str]:
    inherited = private.get("environment")
    return base_environment(dict(os.environ)) if inherited is None else dict(inherited)
