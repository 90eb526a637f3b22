# SPDX-License-Identifier: GPL-3.0-or-later
"""Which messages of the kernel are about a broken GPU or adapter, and which say that a GPU was reset.

The messages are those of NVIDIA's driver (README, "Xid messages"; src/nvidia of open-gpu-kernel-modules), of amdgpu
(amdgpu_device.c, amdgpu_job.c, amdgpu_ras.c), and of the kernel's PCI code and mlx5 (pcie_print_link_status, events.c).
"""

from __future__ import annotations

import re

from .._host import pci
from .._records.health import KernelError

TEXT_LIMIT = 300
_PCI = r"(?:PCI:)?(?P<device>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-7])?)"
_CODE = r"(?P<code>[0-9]{1,6})\b"
_OF_NVIDIA = rf"\bNVRM: (?:(?:The NVIDIA )?GPU (?:at )?{_PCI}\b)?.{{0,200}}?"
_OF_AMD = rf"\bamdgpu {_PCI}: .{{0,200}}?"
_OF_ADAPTER = rf"\bmlx5_core {_PCI}.{{0,100}}?"
# The first pattern that a message has is its kind. Most messages have none of the words, and are not searched.
_ERRORS = tuple(
    (kind, word, re.compile(pattern))
    for kind, word, pattern in (
        ("remap", "Xid", rf"\bNVRM: Xid \({_PCI}\): 63\b.{{0,300}}?\breset gpu to activate"),
        ("xid", "Xid", rf"\bNVRM: Xid \({_PCI}\): {_CODE}"),
        ("sxid", "SXid", rf"\bSXid \({_PCI}\): {_CODE}"),
        ("bus", "fallen off the bus", rf"{_OF_NVIDIA}\bfallen off the bus"),
        ("init", "ailed", rf"{_OF_NVIDIA}\b(?:RmInitAdapter|rm_init_adapter) failed"),
        (
            "gsp",
            "NVRM",
            rf"{_OF_NVIDIA}\b_?k?(?:gsp|GSP)\w*\b.{{0,100}}?\b(?:[Ff]ail|cannot|[Uu]nexpected|[Tt]imed? ?out)",
        ),
        (
            "nvlink",
            "vlink",
            rf"(?:{_OF_NVIDIA}\bknvlink\w*|\bnvidia-nvlink: ).{{0,100}}?\b(?:[Ff]ail|[Ff]atal|[Ee]rror)",
        ),
        ("ras", "uncorrectable", rf"{_OF_AMD}\b(?!0\b)[0-9]{{1,18}} (?:new )?uncorrectable hardware errors? detected"),
        ("ras", "ERREVENT", rf"{_OF_AMD}\bERREVENT_\w+"),
        ("init", "init", rf"{_OF_AMD}\b(?:amdgpu_device_ip_init failed|Fatal error during GPU init)"),
        ("init", "probe of", rf"\bamdgpu: probe of {_PCI} failed with error"),
        ("bus", "lost from bus", rf"{_OF_AMD}\bdevice lost from bus"),
        ("reset failed", "GPU reset", rf"{_OF_AMD}\bGPU reset(?:\([0-9]+\) failed| end with ret = -)"),
        ("ring", "timeout", rf"{_OF_AMD}\bring \S{{1,40}} timeout\b"),
        ("ring", "timeout", r"\bamdgpu_job_timedout\b.{0,100}?\bring \S{1,40} timeout\b"),
        ("mlx5", "mlx5_core", rf"{_OF_ADAPTER}available PCIe bandwidth.{{0,100}}, limited by"),
        ("mlx5", "mlx5_core", rf"{_OF_ADAPTER}(?:insufficient power|event\[error\])"),
    )
)
_RESETS = tuple(
    (word, re.compile(pattern))
    for word, pattern in (
        ("GPU reset", rf"{_OF_AMD}\bGPU reset(?:\([0-9]+\) succeeded| end with ret = 0)"),
        ("reset done", rf"\b(?:nvidia|amdgpu) {_PCI}: reset done"),
        # It was loaded again: every GPU is as after a start.
        ("NVRM: loading", r"\bNVRM: loading NVIDIA UNIX"),
    )
)
WORDS = tuple(dict.fromkeys([*(word for _kind, word, _pattern in _ERRORS), *(word for word, _pattern in _RESETS)]))


def parse_error(text: str, monotonic_s: float | None) -> KernelError | None:
    """Return the error that a message reports, None for other messages."""
    for kind, word, pattern in _ERRORS:
        match = pattern.search(text) if word in text else None
        if match:
            groups = match.groupdict()
            code = groups.get("code")
            shown = text.strip()[:TEXT_LIMIT]
            return KernelError(kind, int(code) if code else None, _device(groups.get("device")), shown, monotonic_s)
    return None


def parse_reset(text: str) -> tuple[bool, str | None]:
    """Return whether a message reports that a GPU was reset, and which one: None for all of NVIDIA's."""
    for word, pattern in _RESETS:
        match = pattern.search(text) if word in text else None
        if match:
            return True, _device(match.groupdict().get("device"))
    return False, None


def _device(address: str | None) -> str | None:
    """Return the address with its function, 0 where the driver omits it."""
    return pci.normalize(address if "." in address else f"{address}.0") if address else None
