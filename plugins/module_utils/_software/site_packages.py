# SPDX-License-Identifier: GPL-3.0-or-later
"""Where an interpreter looks for packages, without starting it.

The rules of CPython's Modules/getpath.py and Lib/site.py, and of Debian's patch to the latter, from files alone. What
they leave open (a wrapper script, code that changes sys.path at start) makes the answer uncertain, never wrong.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping

from .._host.host import Host

_PYTHON = re.compile(r"python(3\.[0-9]{1,3})t?")
_PYVENV = re.compile(r"^([a-z_-]+)\s*=\s*(.*?)\s*$", re.MULTILINE | re.IGNORECASE)
# Files with code whose effect on sys.path is known: none, or one package by its own name.
_HARMLESS = re.compile(r"_virtualenv\.pth|distutils-precedence\.pth|__editable__.*\.pth|.*-nspkg\.pth|a1_coverage\.pth")
CUSTOMIZE = ("sitecustomize.py", "sitecustomize", "usercustomize.py", "usercustomize")
PTH_LIMIT = 65536


@dataclasses.dataclass
class SitePackages:
    """Directories that packages are imported from, in order, with the names in each.

    certain: nothing speaks for others than these. version is X.Y, or X.Y.Z where a file tells it and which (source).
    """

    prefix: str
    folders: dict[str, list[str]]
    certain: bool
    version: str | None = None
    source: str | None = None

    def folder_of(self, name: str) -> str | None:
        """Return the directory that a package or a distribution's directory is imported from."""
        return next((folder for folder, names in self.folders.items() if name in names), None)


def parse_pyvenv(text: str) -> dict[str, str]:
    """Return the settings of a pyvenv.cfg, names in lower case."""
    return {name.lower(): value for name, value in _PYVENV.findall(text)}


def parse_pth(text: str) -> tuple[list[str], bool]:
    """Return the directories a .pth file adds, and whether it has code (site.addpackage)."""
    lines = [line.rstrip() for line in text.splitlines()]
    code = [line for line in lines if line.startswith(("import ", "import\t"))]
    return [line for line in lines if line and not line.startswith("#") and line not in code], bool(code)


def read_site_packages(host: Host, interpreter: str, environ: Mapping[str, str]) -> SitePackages:
    """Return where the interpreter, given by its path with links, looks for packages under these variables."""
    real = host.resolve(interpreter) or interpreter
    # A script in its place may set anything; so do the wrappers of Nix and Guix, which are programs.
    certain = host.read_bytes(real, 4) == b"\x7fELF" and not real.startswith(("/nix/", "/gnu/"))
    certain = certain and "PYTHONHOME" not in environ and "PYTHONPLATLIBDIR" not in environ
    base = os.path.dirname(os.path.dirname(real))
    site = SitePackages(base, {}, certain)
    path = [folder for folder in environ.get("PYTHONPATH", "").split(":") if folder]
    site.certain = certain and all(folder.startswith("/") for folder in path)
    candidates = list(path)
    venv = _virtual_environment(host, interpreter)
    if venv is None:
        candidates += _of_base(host, site, base, real, environ)
    else:
        site.prefix, settings = venv
        folders = _of_prefix(host, site.prefix, None)
        candidates += folders
        site.certain = site.certain and any(host.is_dir(folder) for folder in folders)
        _set_version(site, settings, folders)
        if settings.get("include-system-site-packages", "").lower() == "true":
            home = settings.get("home", "")
            candidates += _of_base(host, site, os.path.dirname(home) if home.startswith("/") else base, real, environ)
    for folder in candidates:
        _add(host, site, folder, reads_pth=folder in candidates[len(path) :])
    return site


def _virtual_environment(host: Host, interpreter: str) -> tuple[str, dict[str, str]] | None:
    """Return the prefix and settings of the virtual environment that the path, links and all, is in."""
    folder = os.path.dirname(interpreter)
    for prefix in (folder, os.path.dirname(folder)):
        text = host.read_text(f"{prefix}/pyvenv.cfg", PTH_LIMIT)
        if text is not None:
            return os.path.dirname(folder), parse_pyvenv(text)
    return None


def _set_version(site: SitePackages, settings: Mapping[str, str], folders: list[str]) -> None:
    """Note the version of a virtual environment: as its settings tell it, else as its site-packages are named."""
    setting = re.match(r"3\.[0-9]{1,3}(?:\.[0-9]{1,3})?", settings.get("version_info") or settings.get("version") or "")
    named = [match.group(1) for match in (_PYTHON.fullmatch(folder.split("/")[-2]) for folder in folders) if match]
    site.version = setting.group() if setting else next(iter(named), None)
    site.source = f"{site.prefix}/pyvenv.cfg" if setting else None


def _of_prefix(host: Host, prefix: str, version: str | None) -> list[str]:
    """Return the site-packages below a prefix: of one version, or of all there."""
    folders = []
    for library in ("lib", "lib64"):
        if library == "lib64" and host.is_link(f"{prefix}/lib64"):
            continue
        for name in host.list_dir(f"{prefix}/{library}") or []:
            match = _PYTHON.fullmatch(name)
            if match and version in (None, match.group(1)):
                folders.append(f"{prefix}/{library}/{name}/site-packages")
    return folders


def _of_base(host: Host, site: SitePackages, base: str, real: str, environ: Mapping[str, str]) -> list[str]:
    """Return the directories of an interpreter itself, the user's first; note its version if it is not known yet."""
    named = _PYTHON.fullmatch(os.path.basename(real))
    version = named.group(1) if named else None
    standard = [os.path.dirname(folder) for folder in _of_prefix(host, base, version)]
    library_folders = [folder for folder in standard if host.exists(f"{folder}/os.py")]
    site.certain = site.certain and bool(library_folders)
    if version is None and library_folders:
        version = os.path.basename(library_folders[0])[len("python") :].rstrip("t")
    if site.version is None:
        site.version, site.source = _full_version(host, base, version)
    user = environ.get("PYTHONUSERBASE") or host.expand("~/.local")
    folders = _of_prefix(host, user, version) + _of_prefix(host, base, version)
    if base == "/usr":
        folders += [f"/usr/local/lib/python{version}/dist-packages", "/usr/lib/python3/dist-packages"]
        folders += _of_prefix(host, "/usr/local", version)
    elif base == "/usr/local":
        folders += [f"/usr/local/lib/python{version}/dist-packages"]
    return folders


def _full_version(host: Host, base: str, version: str | None) -> tuple[str | None, str | None]:
    """Return X.Y.Z as conda or the headers have it."""
    for name in host.list_dir(f"{base}/conda-meta") or []:
        match = re.fullmatch(r"python-(3\.[0-9]{1,3}\.[0-9]{1,3})-.*\.json", name)
        if match:
            return match.group(1), f"{base}/conda-meta/{name}"
    header = f"{base}/include/python{version}/patchlevel.h"
    match = re.search(
        r'^#define PY_VERSION\s+"([0-9a-z.+]{1,20})"', host.read_text(header, PTH_LIMIT) or "", re.MULTILINE
    )
    return (match.group(1), header) if match else (version, None)


def _add(host: Host, site: SitePackages, folder: str, reads_pth: bool) -> None:
    """Add a directory, and those that its .pth files name, which Python reads except in PYTHONPATH."""
    if folder in site.folders or not host.is_dir(folder):
        return
    names = host.list_dir(folder)
    site.folders[folder] = names or []
    if names is None or any(name in names for name in CUSTOMIZE):
        site.certain = False
    for name in names or []:
        if reads_pth and name.endswith(".pth"):
            added, code = parse_pth(host.read_text(f"{folder}/{name}", PTH_LIMIT) or "")
            if code and not _HARMLESS.fullmatch(name):
                site.certain = False
            for path in (os.path.normpath(os.path.join(folder, line)) for line in added):
                if path not in site.folders and host.is_dir(path):
                    site.folders[path] = host.list_dir(path) or []
