# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runner as one file: the zipapp that the module `job` puts on the node."""

from __future__ import annotations

import io
import types
import zipfile
from typing import Any

# Imported so that Ansible ships them with the module; their bytes are what is written to the node.
from . import _job_records
from .runner import (
    _attempt,
    _child,
    _claim,
    _council,
    _failures,
    _files,
    _frames,
    _gang,
    _head,
    _inherited,
    _link,
    _lock,
    _logs,
    _member,
    _output,
    _processes,
    _progress,
    _seats,
    _state,
    _torchrun,
    _unit,
    runner,
)

_PARTS = (
    *(
        _attempt,
        _child,
        _claim,
        _council,
        _failures,
        _files,
        _frames,
        _gang,
        _head,
        _inherited,
        _link,
        _lock,
        _logs,
        _member,
    ),
    *(_output, _processes, _progress, _seats, _state, _unit, runner),
)
_MAIN = b"import sys\n\nfrom muster.runner.runner import main\n\nraise SystemExit(main(sys.argv[1:]))\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def _source(module: types.ModuleType) -> bytes:
    """Return the bytes a module was imported from: a checkout's file, or a member of Ansible's zip on the node."""
    loader: Any = module.__spec__.loader if module.__spec__ else None
    data: bytes = loader.get_data(module.__file__)
    return data


def _file_name(module: types.ModuleType) -> str:
    return module.__name__.rpartition(".")[2] + ".py"


def runner_zipapp() -> bytes:
    """Return the bytes of ``runner.pyz``, the same for the same sources."""
    files = {"__main__.py": _MAIN, "muster/__init__.py": b"", "muster/runner/__init__.py": b""}
    files["muster/" + _file_name(_job_records)] = _source(_job_records)
    files.update({"muster/runner/" + _file_name(part): _source(part) for part in _PARTS})
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def torchrun_launcher() -> bytes:
    """Return the bytes of ``torchrun.py``, which the training interpreter runs on the node."""
    return _source(_torchrun)
