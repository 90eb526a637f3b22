# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a small Debian 12, for images of the tests."""

from __future__ import annotations

import subprocess
from pathlib import Path


def write_archive(archive: Path, packages: str) -> None:
    """Write a tar archive of Debian's essential packages and these, separated by commas."""
    targets = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Identifier: Packages", "Codename: bookworm"]
    mirror = subprocess.run(targets, capture_output=True, text=True, check=True).stdout.split()[0]
    options = ["--quiet", "--variant=essential", f"--include={packages}", "bookworm", str(archive), mirror]
    subprocess.run(["mmdebstrap", *options], check=True, timeout=250)
