# SPDX-License-Identifier: GPL-3.0-or-later
"""Where an interpreter looks for packages: the same as it reports, or nothing certain."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._software.site_packages import (
    SitePackages,
    parse_pth,
    parse_pyvenv,
    read_site_packages,
)
from ansible_collections.muster.train.tests.support.machines import Machine

ELF = "\x7fELF"
PYVENV = "home = /usr/bin\ninclude-system-site-packages = {}\nversion = 3.11.2\n"
DEBIAN = {"/usr/bin/python3.11": ELF, "/usr/lib/python3.11/os.py": "", "/usr/lib/python3/dist-packages/six.py": ""}
VENV = {"/v/pyvenv.cfg": PYVENV.format("false"), "/v/lib/python3.11/site-packages/six.py": ""}
VENV_LINKS = {"/v/bin/python": "/usr/bin/python3.11"}


def look(tmp_path: Path, interpreter: str, files: dict[str, str], **more: Any) -> SitePackages:
    environ = more.pop("environ", {})
    machine = Machine({"files": files, **more}, tmp_path / "root")
    return read_site_packages(machine, interpreter, {"PYTHONUSERBASE": "/home/me/.local", **environ})


@pytest.mark.parametrize("system", [False, True])
def test_an_environment_here_is_seen_as_it_sees_itself(tmp_path: Path, system: bool) -> None:
    venv.create(tmp_path / "v", system_site_packages=system, with_pip=False)
    interpreter = f"{tmp_path}/v/bin/python"
    folder = next((tmp_path / "v/lib").iterdir()) / "site-packages"
    for name in ("added", "first", "unread"):
        (tmp_path / name).mkdir()
    (tmp_path / "first" / "torch.pth").write_text(f"{tmp_path}/unread\n")
    (folder / "more.pth").write_text(f"# no directory\n{tmp_path}/added\n{tmp_path}/absent\n")
    environ = {**os.environ, "PYTHONPATH": f"{tmp_path}/first:{tmp_path}/absent"}
    asked = [interpreter, "-c", "import json, platform, sys; print(json.dumps([platform.python_version(), sys.path]))"]
    version, paths = json.loads(subprocess.run(asked, env=environ, check=True, capture_output=True, cwd="/").stdout)
    standard = (sys.base_prefix + "/lib/python", sys.base_prefix + "/lib64/python")
    sites = [path for path in paths if os.path.isdir(path) and (path.endswith("-packages") or path[:9] != "/usr/lib/")]
    sites = [path for path in sites if path.endswith("-packages") or not path.startswith(standard)]
    result = read_site_packages(Host(), interpreter, environ)
    assert list(result.folders) == sites
    assert (result.prefix, result.version, result.source) == (f"{tmp_path}/v", version, f"{tmp_path}/v/pyvenv.cfg")
    assert result.certain or system


def test_debian(tmp_path: Path) -> None:
    folders = ["/home/me/.local/lib/python3.11/site-packages", "/usr/local/lib/python3.11/dist-packages"]
    result = look(tmp_path, "/usr/bin/python3", DEBIAN, directories=folders, links={"/usr/bin/python3": "python3.11"})
    assert (result.prefix, result.certain, result.version) == ("/usr", True, "3.11")
    assert list(result.folders) == [*folders, "/usr/lib/python3/dist-packages"]


def test_conda(tmp_path: Path) -> None:
    files = {
        "/opt/conda/bin/python3.12": ELF,
        "/opt/conda/lib/python3.12/os.py": "",
        "/opt/conda/lib/python3.12/site-packages/six.py": "",
        "/opt/conda/conda-meta/python-3.12.4-h5148396_1.json": "{}",
    }
    result = look(tmp_path, "/opt/conda/bin/python3.12", files)
    assert result.folders == {"/opt/conda/lib/python3.12/site-packages": ["six.py"]}
    assert (result.certain, result.version) == (True, "3.12.4")
    assert result.folder_of("six.py") == "/opt/conda/lib/python3.12/site-packages"
    assert result.folder_of("torch") is None


def test_a_virtual_environment_of_debian(tmp_path: Path) -> None:
    result = look(tmp_path, "/v/bin/python", {**DEBIAN, **VENV}, links=VENV_LINKS)
    assert (list(result.folders), result.certain) == (["/v/lib/python3.11/site-packages"], True)
    system = {"/v/pyvenv.cfg": PYVENV.format("True")}
    result = look(tmp_path / "system", "/v/bin/python", {**DEBIAN, **VENV, **system}, links=VENV_LINKS)
    assert list(result.folders) == ["/v/lib/python3.11/site-packages", "/usr/lib/python3/dist-packages"]
    assert (result.certain, result.version) == (True, "3.11.2")


@pytest.mark.parametrize(
    ("changes", "environ"),
    [
        ({"/usr/bin/python3.11": "#!/bin/sh\nmodule load torch\n"}, {}),
        ({}, {"PYTHONHOME": "/opt/other"}),
        ({}, {"PYTHONPATH": "src"}),
        ({"/v/lib/python3.11/site-packages/site_packages.pth": "import sys; sys.path.append('/x')\n"}, {}),
        ({"/v/lib/python3.11/site-packages/sitecustomize.py": ""}, {}),
    ],
)
def test_what_may_change_where_it_looks_makes_it_uncertain(
    tmp_path: Path, changes: dict[str, str], environ: dict[str, str]
) -> None:
    result = look(tmp_path, "/v/bin/python", {**DEBIAN, **VENV, **changes}, links=VENV_LINKS, environ=environ)
    assert "/v/lib/python3.11/site-packages" in result.folders
    assert not result.certain


@pytest.mark.parametrize("name", ["distutils-precedence.pth", "_virtualenv.pth", "__editable__.mine-1.0.pth"])
def test_code_that_is_known_to_add_nothing(tmp_path: Path, name: str) -> None:
    changes = {f"/v/lib/python3.11/site-packages/{name}": "import something; something.install()\n"}
    assert look(tmp_path, "/v/bin/python", {**DEBIAN, **VENV, **changes}, links=VENV_LINKS).certain


def test_an_interpreter_without_a_library(tmp_path: Path) -> None:
    result = look(tmp_path, "/usr/bin/python3", {"/usr/bin/python3": ELF})
    assert (result.folders, result.certain, result.version) == ({}, False, None)
    assert not look(tmp_path / "none", "/absent/python", {}).certain


def test_a_directory_that_cannot_be_listed_makes_it_uncertain(tmp_path: Path) -> None:
    class Closed(Machine):
        def list_dir(self, path: str) -> list[str] | None:
            return None if path.endswith("site-packages") else super().list_dir(path)

    result = read_site_packages(
        Closed({"files": {**DEBIAN, **VENV}, "links": VENV_LINKS}, tmp_path), "/v/bin/python", {}
    )
    assert (list(result.folders), result.certain) == (["/v/lib/python3.11/site-packages"], False)


def test_parse_pyvenv() -> None:
    assert parse_pyvenv("home = /usr/bin\nVersion=3.11.2 \nno setting\n = 1\n") == {
        "home": "/usr/bin",
        "version": "3.11.2",
    }


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("/a\n# b\n\n../c  \n", (["/a", "../c"], False)),
        ("import x; x()\n/a\n", (["/a"], True)),
        ("import\tx\n", ([], True)),
        ("importlib\n", (["importlib"], False)),
    ],
)
def test_parse_pth(text: str, parsed: tuple[list[str], bool]) -> None:
    assert parse_pth(text) == parsed
