# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPUs, by the first tool that answers, until it has failed too often."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from typing import Any, Callable, NamedTuple

from ..._gpu.amd import telemetry as amd
from ..._gpu.nvidia import telemetry as nvidia
from ..._records.telemetry import GpuSample, GpuSource

SOURCES = (*nvidia.SOURCES, *amd.SOURCES)
# Without persistence mode, a driver that has to load first takes seconds.
TOOL_S = 10.0
# So many calls in a row without an answer, and no further one is made: each costs as much as it may take.
MOST_MISSES = 3
# Packages of ROCm need not link their tools into the PATH.
MORE_FOLDERS = ("/opt/rocm/bin",)
LINE = 200


class ToolOutput(NamedTuple):
    """What a tool printed; out is None where it gave no answer in time."""

    out: str | None
    code: int | None = None


def run_tool(argv: Sequence[str], seconds: float = TOOL_S) -> ToolOutput | None:
    """Return the answer of a tool, None where it is not installed. One that hangs in the kernel is left behind."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *MORE_FOLDERS))
    program = shutil.which(argv[0], path=path)
    if program is None:
        return None
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        process = subprocess.Popen(
            [program, *argv[1:]],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except OSError as error:
        return ToolOutput(str(error.strerror), 127)
    try:
        out = process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return ToolOutput(None)
    return ToolOutput(out.decode("utf-8", "replace"), process.returncode)


class GpuReader:
    """Reads the GPUs again and again; note is why it has given up, once."""

    def __init__(
        self,
        sources: Iterable[GpuSource] = SOURCES,
        run: Callable[[Sequence[str]], ToolOutput | None] = run_tool,
    ) -> None:
        self.note: dict[str, Any] | None = None
        self._sources, self._run = list(sources), run
        self._is_chosen = False
        self._misses = 0
        self._failure: dict[str, Any] | None = None

    def read(self) -> list[GpuSample]:
        """Return the GPUs, none where no tool shows any; one that has refused an option is asked without it."""
        while self._sources:
            source = self._sources[0]
            answer = self._run(source.argv)
            gpus = source.parse(answer.out) if answer is not None and answer.out is not None else []
            if gpus:
                self._is_chosen, self._misses = True, 0
                return gpus
            if answer is not None:
                self._failure = _failure(source.argv[0], answer)
            if self._is_chosen or (answer is not None and answer.out is None):
                self._misses += 1
                if self._misses >= MOST_MISSES:
                    self._sources, self.note = [], {**(self._failure or {}), "calls": self._misses}
                return []
            del self._sources[0]
            self.note = self._failure if not self._sources else None
        return []

    def take_note(self) -> dict[str, Any] | None:
        """Return why it has given up, once."""
        note, self.note = self.note, None
        return note


def _failure(tool: str, answer: ToolOutput) -> dict[str, Any]:
    if answer.out is None:
        return {"tool": tool, "kind": "no_answer", "seconds": TOOL_S}
    lines = answer.out.strip().splitlines() or [f"exit code {answer.code}"]
    return {"tool": tool, "kind": "no_gpus", "why": lines[-1 if lines[0].startswith("Traceback ") else 0][:LINE]}
