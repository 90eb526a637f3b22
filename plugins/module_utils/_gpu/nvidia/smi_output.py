# SPDX-License-Identifier: GPL-3.0-or-later
"""What nvidia-smi prints about GPUs: --query-gpu, -q -x, -q, -L.

A value that the tool does not have is printed in words ("[N/A]", "[GPU is lost]") and is None here.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from xml.etree import ElementTree

from ..._host.command import LINE_LIMIT
from ..._host.pci import normalize
from ..._records.frozen import field, frozen
from .failure import HANDLE_LINE, kind_of_value

# MIG decides how many devices there are. Drivers before 450 refuse mig.mode.current.
QUERY = ("index", "name", "uuid", "pci.bus_id", "memory.total", "mig.mode.current", "driver_version")

_NUMBER = re.compile(r"([0-9]{1,9})(?: MiB)?", re.ASCII)
_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)+", re.ASCII)
# KMD and UMD since driver 610: kernel-mode and user-mode driver.
# Blanks, not \s, which would cross line ends: an answer of blank lines would take quadratic time.
_LOG_LINE = re.compile(r"^[ \t]*(Driver|KMD|CUDA|CUDA UMD) Version[ \t]*:[ \t]*(\S+)[ \t\r]*$", re.MULTILINE)
_GPU_LINE = re.compile(r"\s*GPU\s+[0-9]+:.*\(UUID:\s*(GPU-[^)\s]+)\)")
_MIG_LINE = re.compile(r"\s*MIG\s+(\S+)\s+Device\s+[0-9]+:\s*\(UUID:\s*(MIG-[^)\s]+)\)")
# A GPU without the feature, or a partition that may not see the whole GPU, is healthy.
_NOT_THERE = ("", "N/A", "Not Supported", "Not Available", "Insufficient Permissions", "Not Applicable")


@frozen
class SmiGpu:
    """One whole GPU by nvidia-smi's index; trouble is printed instead of values ("GPU is lost"; a fault goes first)."""

    index: int
    name: str | None = None
    uuid: str | None = None
    pci_address: str | None = None
    memory_mib: int | None = None
    mig: bool = False
    trouble: str | None = None


@frozen
class SmiAnswer:
    """The answer of one call; versions are None where it does not contain them."""

    gpus: list[SmiGpu] = field(default_factory=list)
    driver_version: str | None = None
    runtime_version: str | None = None


def parse_query(text: str) -> SmiAnswer:
    """Return the rows of --query-gpu=QUERY --format=csv,noheader,nounits, and beside them the GPUs without a handle.

    Other lines are left out.
    """
    gpus: dict[int, SmiGpu] = {}
    driver = None
    for line in text.splitlines():
        values = _fields(line)
        if len(values) == len(QUERY) and re.fullmatch("[0-9]{1,4}", values[0], re.ASCII):
            gpu = _gpu(int(values[0]), values[1:6])
            gpus.setdefault(gpu.index, gpu)
            driver = driver or _version(values[6])
    for match in HANDLE_LINE.finditer(text if gpus else ""):
        index = int(match.group(1) or next(number for number in range(len(gpus) + 1) if number not in gpus))
        words = match.group().strip()[:LINE_LIMIT]
        gpus.setdefault(index, SmiGpu(index, pci_address=normalize(match.group(2)), trouble=words))
    return SmiAnswer([gpus[index] for index in sorted(gpus)], driver)


def other_lines(text: str) -> str:
    """Return the lines of --query-gpu that are not rows of GPUs."""
    return "\n".join(line for line in text.splitlines() if not parse_query(line).gpus)


def _fields(line: str) -> list[str]:
    try:
        return [value.strip() for row in csv.reader([line], skipinitialspace=True) for value in row]
    except csv.Error:  # a field longer than csv takes
        return []


def _gpu(index: int, values: Sequence[str]) -> SmiGpu:
    """Make a GPU of its name, uuid, address, memory and MIG mode."""
    troubles = [word for word in map(_in_brackets, values) if word and word not in _NOT_THERE]
    name, uuid, address, memory, mig = ["" if _in_brackets(value) is not None else value for value in values]
    number = _NUMBER.fullmatch(memory)
    return SmiGpu(
        index=index,
        name=name or None,
        uuid=uuid if uuid.startswith("GPU-") else None,
        pci_address=normalize(address),
        memory_mib=int(number.group(1)) if number else None,
        mig=mig == "Enabled",
        trouble=min(troubles, key=lambda words: kind_of_value(words) is None, default=None),
    )


def _in_brackets(value: str) -> str | None:
    """Return what is printed instead of a value ("[GPU is lost]"), None for a value."""
    if value in (*_NOT_THERE, "ERR!"):
        return value
    return value[1:-1] if value.startswith("[") and value.endswith("]") else None


def _version(text: str | None) -> str | None:
    return text if text and _VERSION.fullmatch(text) else None


def parse_document(text: str) -> ElementTree.Element | None:
    """Return the XML of -q -x; nvidia-smi declares no entities, which could expand without limit."""
    try:
        return None if "<!ENTITY" in text else ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError):
        return None


def text_of(element: ElementTree.Element, path: str) -> str:
    """Return the text at a path, empty if there is none."""
    return (element.findtext(path) or "").strip()


def parse_xml(text: str) -> SmiAnswer:
    """Return the GPUs of -q -x, numbered in its order, which is that of the indexes."""
    log = parse_document(text)
    if log is None:
        return SmiAnswer()
    paths = ("product_name", "uuid", "pci/pci_bus_id", "fb_memory_usage/total", "mig_mode/current_mig")
    gpus = [_gpu(index, [text_of(gpu, path) for path in paths]) for index, gpu in enumerate(log.findall("gpu"))]
    driver = text_of(log, "driver_version") or text_of(log, "kmd_version")
    return SmiAnswer(gpus, _version(driver), _version(text_of(log, "cuda_version") or text_of(log, "cuda_umd_version")))


def parse_log(text: str) -> SmiAnswer:
    """Return the versions at the head of any -q: the driver's, and the newest CUDA it has a runtime for."""
    versions = {name.split()[0]: _version(value) for name, value in _LOG_LINE.findall(text)}
    return SmiAnswer([], versions.get("Driver") or versions.get("KMD"), versions.get("CUDA"))


def parse_list(text: str) -> dict[str, list[tuple[str, str]]]:
    """Return the MIG devices in -L by the UUID of their GPU, as (profile, UUID), in order."""
    partitions: dict[str, list[tuple[str, str]]] = {}
    gpu = None
    for line in text.splitlines():
        match = _GPU_LINE.match(line)
        if match:
            gpu = match.group(1)
            partitions.setdefault(gpu, [])
        elif gpu is not None:
            match = _MIG_LINE.match(line)
            if match:
                partitions[gpu].append((match.group(1), match.group(2)))
    return partitions
