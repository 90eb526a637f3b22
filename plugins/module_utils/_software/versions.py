# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions of drivers and of what a rank loads, from files alone.

Importing torch takes seconds and GPU memory; its version.py has the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Callable

from .._container.kind import read_environ
from .._host import sysfs
from .._host.host import Host
from .._records.system import Versions
from .files import find_python
from .site_packages import SitePackages, read_site_packages

TEXT_LIMIT = 65536
# Where the loader finds libnccl.so.2 after LD_LIBRARY_PATH (ld.so(8)), and where images have it.
LIBRARIES = (
    *("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/local/lib", "/usr/lib"),
    "/usr/local/cuda/lib64",
)
DRIVERS = {"nvidia": "nvidia", "nvidia_peermem": "nvidia_peermem", "amdgpu": "amdgpu", "mlx5": "mlx5_core"}
_TORCH = re.compile(
    r"""^(__version__|cuda|hip)[ \t]*(?::[^=\n]*)?=[ \t]*(?:'([^'\n]{1,100})'|"([^"\n]{1,100})")""", re.MULTILINE
)
_TORCH_DIST = re.compile(r"torch-([0-9][0-9A-Za-z.+!_]*?)(?:-py3[^/]*)?\.(?:dist|egg)-info")
# Launchers that are packages of their own.
LAUNCHERS = ("accelerate", "deepspeed")
_LAUNCHER_DIST = re.compile(r"(accelerate|deepspeed)-([0-9][0-9A-Za-z.+!_]*?)(?:-py3[^/]*)?\.(?:dist|egg)-info")
_NCCL_DIST = re.compile(r"nvidia_nccl_cu([0-9]{1,3})-([0-9]+(?:\.[0-9]+)+)[^/]*\.dist-info")
_NCCL_FILE = re.compile(r"libnccl\.so\.([0-9]+\.[0-9]+\.[0-9]+)")
_RCCL_HEADER = re.compile(r"^#define[ \t]+NCCL_(MAJOR|MINOR|PATCH)[ \t]+([0-9]{1,5})\b", re.MULTILINE)


def parse_torch_version(text: str) -> dict[str, str]:
    """Return __version__, cuda and hip, as far as torch/version.py has them as words."""
    return {name: single or double for name, single, double in _TORCH.findall(text)}


def parse_rccl_header(text: str) -> str | None:
    """Return the version in rccl.h."""
    parts = dict(_RCCL_HEADER.findall(text))
    return ".".join(parts[part] for part in ("MAJOR", "MINOR", "PATCH")) if len(parts) == 3 else None


def read_versions(
    host: Host, code_dir: str, command: str, warn: Callable[[str], None], python_path: str | None = None
) -> Versions:
    """Return the versions of this node; command is the requested training interpreter, python_path its PYTHONPATH."""
    environ = read_environ(host)
    if python_path is not None:
        environ["PYTHONPATH"] = python_path
    interpreter = find_python(host, code_dir, command).path
    versions: dict[str, tuple[str | None, str]] = {}
    site = read_site_packages(host, interpreter, environ) if interpreter else SitePackages("/", {}, False)
    certain = site.certain
    if interpreter:
        versions["python"] = (site.version, site.source or interpreter)
    torch_folder = site.folder_of("torch")
    versions.update(_torch(host, site, torch_folder))
    if torch_folder is not None and versions["torch"][0] is None:
        warn(f"{torch_folder}/torch does not contain its version")
        certain = False
    launchers = _launchers(site)
    versions.update(launchers)
    # A checkout on PYTHONPATH has no metadata.
    certain = certain and not any(site.folder_of(name) for name in LAUNCHERS if name not in launchers)
    versions.update(_nccl(host, site, versions["torch_cuda"][0], environ))
    versions.update(_rccl(host, torch_folder, environ))
    for name, module in DRIVERS.items():
        path = f"/sys/module/{module}/version"
        versions[name] = (sysfs.text(host, path), path)
    return Versions(
        **{name: version for name, (version, _source) in versions.items()},
        site_packages=list(site.folders) if certain and site.folders else None,
        python_path=python_path,
        sources={name: source for name, (version, source) in versions.items() if version is not None},
    )


def _torch(host: Host, site: SitePackages, folder: str | None) -> dict[str, tuple[str | None, str]]:
    """Return torch's versions from its own file, or else from its installer's metadata."""
    path = f"{folder}/torch/version.py"
    values = parse_torch_version(host.read_text(path, TEXT_LIMIT) or "") if folder is not None else {}
    versions: dict[str, tuple[str | None, str]] = {"torch": (values.get("__version__"), path)}
    if "__version__" not in values:
        for place, names in site.folders.items():
            for name in names:
                match = _TORCH_DIST.fullmatch(name)
                if match and versions["torch"][0] is None:
                    versions["torch"] = (match.group(1), f"{place}/{name}")
    return {**versions, "torch_cuda": (values.get("cuda"), path), "torch_hip": (values.get("hip"), path)}


def _launchers(site: SitePackages) -> dict[str, tuple[str | None, str]]:
    """Return the versions of launchers by their installer's metadata, the first of each that Python would import."""
    matches = {
        match[1]: (match[2], f"{folder}/{match[0]}")
        for folder, names in reversed(site.folders.items())
        for match in map(_LAUNCHER_DIST.fullmatch, names)
        if match
    }
    return {**matches}


def _nccl(
    host: Host, site: SitePackages, cuda: str | None, environ: Mapping[str, str]
) -> dict[str, tuple[str | None, str]]:
    """Return NCCL's version: of torch's wheel, or else of the library that the loader would find."""
    wheels = [
        (match.group(1) == (cuda or "").partition(".")[0], match.group(2), f"{folder}/{match.group()}")
        for folder, names in site.folders.items()
        for match in map(_NCCL_DIST.fullmatch, names)
        if match
    ]
    if wheels:
        _fits, version, path = max(wheels, key=lambda wheel: wheel[0])
        return {"nccl": (version, path)}
    folders = [folder for folder in environ.get("LD_LIBRARY_PATH", "").split(":") if folder.startswith("/")]
    for folder in (*folders, f"{site.prefix}/lib", *LIBRARIES):
        path = f"{folder}/libnccl.so.2"
        if host.exists(path):
            match = _NCCL_FILE.fullmatch((host.resolve(path) or "").rpartition("/")[2])
            return {"nccl": (match.group(1) if match else None, path)}
    return {}


def _rccl(host: Host, torch_folder: str | None, environ: Mapping[str, str]) -> dict[str, tuple[str | None, str]]:
    """Return the versions of ROCm and RCCL; no file has that of the RCCL in a wheel of torch."""
    root = environ.get("ROCM_PATH") or "/opt/rocm"
    if not root.startswith("/") or not host.is_dir(root):
        root = "/opt/rocm"
    info = f"{root}/.info/version"
    versions: dict[str, tuple[str | None, str]] = {"rocm": (sysfs.text(host, info), info)}
    if torch_folder is not None and host.exists(f"{torch_folder}/torch/lib/librccl.so"):
        return versions
    for header in (f"{root}/include/rccl/rccl.h", f"{root}/rccl/include/rccl.h"):
        version = parse_rccl_header(host.read_text(header, TEXT_LIMIT) or "")
        if version is not None:
            return {**versions, "rccl": (version, header)}
    return versions
