# SPDX-License-Identifier: GPL-3.0-or-later
"""The Docker Engine of this machine, for tests: an image without a registry, and what containers a test has left."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.muster.train.tests.support.play import ROOT

IMAGE = "muster-test-userland:2"
LINKS = ("bin", "lib", "lib64")
# /sbin is its own: Docker mounts the init there.
FOLDERS = ("sbin", "usr", "etc", "proc", "sys", "dev", "tmp", "root")


def docker(*words: str, check: bool = True) -> str:
    """Run docker and return what it printed."""
    done = subprocess.run(["docker", *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 or not check, f"docker {' '.join(words)}: {done.stderr}"
    return done.stdout


def missing() -> str | None:
    """Say why no container can be run here, None where one can."""
    for words in (["info"], ["compose", "version"]):
        try:
            done = subprocess.run(["docker", *words], capture_output=True, text=True, timeout=30, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"no Docker Engine answers here: {error}"
        if done.returncode != 0:
            return f"docker {' '.join(words)}: {done.stderr.strip().splitlines()[-1:]}"
    if any(not os.path.islink(f"/{name}") for name in LINKS):
        return "this machine's userland cannot be lent to a container: /bin is no link to /usr/bin"
    return None


def make_image() -> None:
    """Make an image of folders and links alone: containers borrow this machine's userland by mounts."""
    if docker("images", "--quiet", IMAGE):
        return
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name in FOLDERS:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            archive.addfile(entry)
        for name in LINKS:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(f"/{name}")
            archive.addfile(entry)
    subprocess.run(["docker", "import", "-", IMAGE], input=stream.getvalue(), check=True, capture_output=True)


def borrowed() -> list[str]:
    """Return the mounts that make this machine's Python and checkout those of a container, read-only."""
    places = ["/usr", "/etc", sys.prefix, sys.base_prefix, str(Path(sys.executable).resolve().parents[1]), str(ROOT)]
    places += [path for path in sys.path if os.path.isdir(path)]
    real = {os.path.realpath(path) for path in places} | {os.path.abspath(path) for path in places}
    outermost = [path for path in sorted(real) if not any(path.startswith(f"{other}/") for other in real)]
    return [f"{path}:{path}:ro" for path in outermost]


def service(home: Path, **changes: Any) -> dict[str, Any]:
    """Return a service that sees the test's directory at its own path."""
    return {
        "image": IMAGE,
        "network_mode": "host",
        "init": True,
        "volumes": [*borrowed(), f"{home}:{home}"],
        **changes,
    }


def write_compose(path: Path, home: Path, **changes: Any) -> None:
    """Write a compose project with one service, train."""
    project = {"name": "muster-test", "services": {"train": service(home, **changes)}}
    path.write_text(yaml.safe_dump(project))


def containers(home: Path) -> list[dict[str, Any]]:
    """Return what Docker reports about the containers of a test's runs, ended ones too."""
    names = docker("ps", "--all", "--filter", "label=muster.run_id", "--format", "{{.Names}}").split()
    # One that another test has removed meanwhile is missing in the answer.
    details = json.loads(docker("inspect", *names, check=False)) if names else []
    return [
        container
        for container in details
        if container["Config"]["Labels"].get("muster.workdir", "").startswith(str(home))
    ]


def remove_containers(home: Path) -> None:
    """Remove what a test has left."""
    for container in containers(home):
        docker("rm", "--force", container["Id"], check=False)
