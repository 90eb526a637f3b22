# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions from files: torch, NCCL, RCCL, drivers."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.system import Versions
from ansible_collections.muster.train.plugins.module_utils._software.versions import (
    parse_rccl_header,
    parse_torch_version,
    read_versions,
)
from ansible_collections.muster.train.tests.support.machines import Machine

ELF = "\x7fELF"
SITE = "/v/lib/python3.11/site-packages"
PYTHON = {"/usr/bin/python3.11": ELF, "/v/pyvenv.cfg": "home = /usr/bin\nversion = 3.11.2\n", f"{SITE}/six.py": ""}
LINKS = {"/v/bin/python": "/usr/bin/python3.11"}
CUDA = """\
from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip']
__version__ = '2.6.0+cu124'
debug = False
cuda: Optional[str] = '12.4'
git_version = '2236df1770800ffea5697b11b0bb0d910b2e59e1'
hip: Optional[str] = None
"""
HIP = '__version__ = "2.5.1+rocm6.2"\ncuda: Optional[str] = None\nhip: Optional[str] = "6.2.41133-dd7f95766"\n'
TORCH_WITHOUT_VERSION = {f"{SITE}/torch/lib/x.so": ""}
RCCL_H = '#define NCCL_MAJOR 2\n#define NCCL_MINOR 20\n#define NCCL_PATCH 5\n#define NCCL_SUFFIX ""\n'


def warned(root: Path, files: dict[str, str], **more: Any) -> tuple[Versions, list[str]]:
    """The same with warnings."""
    manifest = {"files": {**PYTHON, **files}, **more, "links": {**LINKS, **more.get("links", {})}}
    machine = Machine(manifest, root / "root")
    Path(machine.root, "usr/bin/python3.11").chmod(0o755)
    warnings: list[str] = []
    return read_versions(machine, "/code", "/v/bin/python", warnings.append), warnings


def versions(tmp_path: Path, files: dict[str, str], **more: Any) -> Versions:
    """The versions of a machine whose training interpreter is /v/bin/python."""
    result, warnings = warned(tmp_path, files, **more)
    assert warnings == []
    return result


def test_a_wheel_with_cuda(tmp_path: Path) -> None:
    result = versions(
        tmp_path,
        {
            f"{SITE}/torch/version.py": CUDA,
            f"{SITE}/nvidia_nccl_cu12-2.21.5.dist-info/RECORD": "",
            f"{SITE}/nvidia_nccl_cu11-2.20.5.dist-info/RECORD": "",
            "/usr/lib/x86_64-linux-gnu/libnccl.so.2.18.3": "",
            "/sys/module/nvidia/version": "570.86.15\n",
        },
        links={"/usr/lib/x86_64-linux-gnu/libnccl.so.2": "libnccl.so.2.18.3"},
    )
    assert result == Versions(
        python="3.11.2",
        torch="2.6.0+cu124",
        torch_cuda="12.4",
        nccl="2.21.5",
        nvidia="570.86.15",
        site_packages=[SITE],
        sources={
            "python": "/v/pyvenv.cfg",
            "torch": f"{SITE}/torch/version.py",
            "torch_cuda": f"{SITE}/torch/version.py",
            "nccl": f"{SITE}/nvidia_nccl_cu12-2.21.5.dist-info",
            "nvidia": "/sys/module/nvidia/version",
        },
    )


@pytest.mark.parametrize(
    ("environ", "folder"),
    [("", "/usr/lib64"), ("LD_LIBRARY_PATH=rel:/opt/nccl/lib\0", "/opt/nccl/lib"), ("PATH=/bin\0", "/v/lib")],
)
def test_a_library_of_the_system(tmp_path: Path, environ: str, folder: str) -> None:
    files = {f"{folder}/libnccl.so.2.19.3": "", "/usr/local/lib/libnccl.so.2.8.4": "", "/proc/self/environ": environ}
    links = {f"{folder}/libnccl.so.2": "libnccl.so.2.19.3", "/usr/local/lib/libnccl.so.2": "libnccl.so.2.8.4"}
    result = versions(tmp_path, files, links=links)
    assert (result.nccl, result.sources["nccl"]) == ("2.19.3", f"{folder}/libnccl.so.2")


def test_a_library_without_a_version(tmp_path: Path) -> None:
    result = versions(tmp_path, {"/usr/lib64/libnccl.so.2": ""})
    assert (result.nccl, "nccl" in result.sources) == (None, False)


ROCM = {"/opt/rocm-6.4.1/.info/version": "6.4.1-83\n", "/opt/rocm-6.4.1/include/rccl/rccl.h": RCCL_H}


def test_rocm(tmp_path: Path) -> None:
    result = versions(tmp_path, {f"{SITE}/torch/version.py": HIP, **ROCM}, links={"/opt/rocm": "rocm-6.4.1"})
    assert (result.torch, result.torch_cuda, result.torch_hip) == ("2.5.1+rocm6.2", None, "6.2.41133-dd7f95766")
    assert (result.rocm, result.rccl) == ("6.4.1-83", "2.20.5")
    assert result.sources["rccl"] == "/opt/rocm/include/rccl/rccl.h"


def test_the_rccl_of_a_wheel_is_not_that_of_the_system(tmp_path: Path) -> None:
    wheel = {f"{SITE}/torch/version.py": HIP, f"{SITE}/torch/lib/librccl.so": ""}
    environ = {"/proc/self/environ": "ROCM_PATH=/opt/rocm-6.4.1\0"}
    result = versions(tmp_path, {**wheel, **ROCM, **environ})
    assert (result.rocm, result.rccl) == ("6.4.1-83", None)


@pytest.mark.parametrize(
    ("name", "version"),
    [("torch-2.7.0a0+git1234.dist-info", "2.7.0a0+git1234"), ("torch-2.0.1-py3.11.egg-info", "2.0.1")],
)
def test_an_editable_torch(tmp_path: Path, name: str, version: str) -> None:
    finder = {f"{SITE}/__editable__.torch-2.7.0a0.pth": "import __editable___torch_finder\n", f"{SITE}/{name}/x": ""}
    result = versions(tmp_path, finder)
    assert (result.torch, result.sources["torch"]) == (version, f"{SITE}/{name}")


def test_launchers_that_are_packages(tmp_path: Path) -> None:
    accelerate = {f"{SITE}/accelerate/__init__.py": "", f"{SITE}/accelerate-1.15.0.dist-info/RECORD": ""}
    result = versions(tmp_path, {**accelerate, f"{SITE}/deepspeed_kernels-0.1.dist-info/RECORD": ""})
    assert (result.accelerate, result.deepspeed, result.site_packages) == ("1.15.0", None, [SITE])
    assert result.sources["accelerate"] == f"{SITE}/accelerate-1.15.0.dist-info"


def test_a_launcher_without_metadata_may_be_installed(tmp_path: Path) -> None:
    result = versions(tmp_path, {f"{SITE}/deepspeed/__init__.py": ""})
    assert (result.deepspeed, result.site_packages) == (None, None)


def test_no_torch(tmp_path: Path) -> None:
    others = {f"{SITE}/torchvision/version.py": CUDA, f"{SITE}/torchvision-0.19.0.dist-info/RECORD": ""}
    result = versions(tmp_path, others)
    assert (result.torch, result.site_packages) == (None, [SITE])


def test_a_torch_without_a_version_is_none_that_is_missing(tmp_path: Path) -> None:
    result, warnings = warned(tmp_path, TORCH_WITHOUT_VERSION)
    assert (result.torch, result.site_packages, len(warnings)) == (None, None, 1)


def test_no_interpreter(tmp_path: Path) -> None:
    machine = Machine({"files": {"/sys/module/mlx5_core/version": "24.10-0.7.0\n"}}, tmp_path)
    result = read_versions(machine, "/code", "/absent/python", lambda _warning: None)
    assert result == Versions(mlx5="24.10-0.7.0", sources={"mlx5": "/sys/module/mlx5_core/version"})


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch here")
def test_this_torch() -> None:
    import torch

    result = read_versions(Host(), "/", sys.executable, lambda _warning: None)
    assert (result.torch, result.torch_cuda) == (torch.__version__, torch.version.cuda)
    assert result.python == ".".join(map(str, sys.version_info[:3]))


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        (CUDA, {"__version__": "2.6.0+cu124", "cuda": "12.4"}),
        ("__version__ = TorchVersion('2.1')\n", {}),
        ("    cuda = '12'\n# hip = '6'\n", {}),
        ("hip='6.2'\n", {"hip": "6.2"}),
    ],
)
def test_parse_torch_version(text: str, parsed: dict[str, str]) -> None:
    assert parse_torch_version(text) == parsed


@pytest.mark.parametrize(("text", "version"), [(RCCL_H, "2.20.5"), ("#define NCCL_MAJOR 2\n", None), ("", None)])
def test_parse_rccl_header(text: str, version: str | None) -> None:
    assert parse_rccl_header(text) == version


def test_torch_on_the_python_path_of_the_ranks(tmp_path: Path) -> None:
    machine = Machine(
        {"files": {**PYTHON, "/opt/torch/torch/version.py": CUDA, "/opt/x/x": ""}, "links": LINKS}, tmp_path
    )
    Path(machine.root, "usr/bin/python3.11").chmod(0o755)
    present = read_versions(machine, "/code", "/v/bin/python", pytest.fail, "/opt/torch")
    assert (present.torch, present.python_path) == ("2.6.0+cu124", "/opt/torch")
    absent = read_versions(machine, "/code", "/v/bin/python", pytest.fail, "/opt/x")
    assert absent.torch is None
    assert absent.site_packages is not None
    assert absent.site_packages[0] == "/opt/x"
