# SPDX-License-Identifier: GPL-3.0-or-later
"""A small image for Apptainer with Debian's Python, made once for a checkout; the tests' torch is bound into it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import torch

from ansible_collections.muster.train.tests.support import debian_root
from ansible_collections.muster.train.tests.support.play import ROOT

CACHE = ROOT / ".cache" / "apptainer"
# Where the tests' torch is, with whatever it needs.
PACKAGES = str(Path(torch.__file__).parents[1])
DEFINITION = """\
Bootstrap: localimage
From: {root}
%environment
    export NCCL_DEBUG=FROM_IMAGE
    export OF_IMAGE=yes
    export PYTHONPATH=/of/image
"""
INCLUDED = "python3,libstdc++6,libgomp1"


def missing() -> str | None:
    """Say why no image can be run here, None where one can."""
    absent = [name for name in ("apptainer", "mmdebstrap", "mksquashfs") if shutil.which(name) is None]
    if absent:
        return f"{', '.join(absent)} not found: .ci/apptainer installs Apptainer on Debian"
    release = subprocess.run(["cat", "/etc/os-release"], capture_output=True, text=True, check=True).stdout
    if "VERSION_CODENAME=bookworm" not in release or sys.version_info[:2] != (3, 11):
        return "the tests' torch is bound into an image of Debian 12, and has to be for its Python 3.11"
    return None


def unpacked() -> Path:
    """Return the image as a directory."""
    root = CACHE / "root"
    if not root.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        archive, part = CACHE / "root.tar", CACHE / "root.part"
        debian_root.write_archive(archive, INCLUDED)
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        left_out = [f"--exclude=./{path}" for path in ("dev/*", "usr/share/doc", "usr/share/locale", "var/lib/apt")]
        subprocess.run(["tar", "xf", str(archive), "-C", str(part), *left_out], check=True)
        archive.unlink()
        part.rename(root)
    return root


def image() -> Path:
    """Return the image as a SIF, whose %environment sets variables that a launch sets too."""
    sif = CACHE / "train.sif"
    if not sif.is_file():
        definition, part = CACHE / "train.def", CACHE / "train.part.sif"
        definition.write_text(DEFINITION.format(root=unpacked()))
        build = ["apptainer", "--quiet", "build", "--force", str(part), str(definition)]
        subprocess.run(build, check=True, capture_output=True, timeout=250)
        part.rename(sif)
    return sif
