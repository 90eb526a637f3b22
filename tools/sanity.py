# SPDX-License-Identifier: GPL-3.0-or-later
"""Run `ansible-test sanity` on a copy of the checkout: `make sanity`, or `python tools/sanity.py [TEST OPTION...]`.

ansible-test wants a git repository whose real path ends in ansible_collections/muster/train, so the files that git
would track are copied to a temporary one. It gets a home directory of its own (.cache/sanity); that stays, so that the
second run takes seconds.
"""

from __future__ import annotations

import ast
import configparser
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ansible_test._internal.host_configs import NativePythonConfig
from ansible_test._internal.python_requirements import get_venv_packages

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".cache" / "sanity"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def copy_checkout(target: Path) -> None:
    """Copy what git tracks or would track, as it lies in the working tree, and make the copy a repository."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    for name in filter(None, os.fsdecode(listing).split("\0")):
        source, copy = ROOT / name, target / name
        if source.is_symlink() or source.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy, follow_symlinks=False)
    subprocess.run(["git", "init", "--quiet"], cwd=target, check=True)


def prepare_home() -> None:
    """Give ansible-test its own way to pip, and pip its configuration."""
    HOME.mkdir(parents=True, exist_ok=True)
    HOME.chmod(0o700)
    # ansible-test would download get-pip from a server of its own; Python brings a pip.
    version = get_venv_packages(NativePythonConfig(version=PYTHON))["pip"]
    get_pip = HOME / ".ansible" / "test" / "cache" / f"get_pip_{version.replace('.', '_')}.py"
    get_pip.parent.mkdir(parents=True, exist_ok=True)
    get_pip.write_text("import ensurepip\n\nensurepip.bootstrap(default_pip=True)\n", encoding="utf-8")
    # ansible-test drops PIP_* from the environment, and another home hides the user's pip.conf.
    command = [sys.executable, "-m", "pip", "config", "list"]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    settings = configparser.RawConfigParser()
    for line in sorted(listing.splitlines(), key=lambda line: line.startswith(":env:")):  # the environment wins
        key, _equals, value = line.partition("=")
        section, _dot, option = key.rpartition(".")
        section = "global" if section == ":env:" else section
        if not settings.has_section(section):
            settings.add_section(section)
        settings.set(section, option, str(ast.literal_eval(value)))
    configuration = HOME / ".config" / "pip" / "pip.conf"
    configuration.parent.mkdir(parents=True, exist_ok=True)
    with configuration.open("w", encoding="utf-8") as stream:
        settings.write(stream)


def main() -> int:
    prepare_home()
    with tempfile.TemporaryDirectory(prefix="muster-sanity-") as temporary:
        target = Path(temporary) / "ansible_collections" / "muster" / "train"
        target.mkdir(parents=True)
        copy_checkout(target)
        environment = {**os.environ, "HOME": str(HOME)}
        command = ["ansible-test", "sanity", "--local", "--python", PYTHON, *sys.argv[1:]]
        return subprocess.run(command, cwd=target, env=environment, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
