# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps the script of a launch from starting, as the interpreter that is to run it reads it."""

from __future__ import annotations

import pkgutil

from .._host.budget import Budget
from .._host.host import Host
from .._records.known import as_dict, parse_json
from .._records.node import Script
from .._text.printable import clean
from . import imports

ENDING = ".py"
# A cold interpreter in a network home takes seconds to start.
TIMEOUT_S = 8.0
# Of the names of modules and of a message, which the script's author chose.
LIMIT = 200


def read_script(host: Host, interpreter: str, path: str, code_dir: str, python_path: str | None) -> Script | None:
    """Return the state of the script; None if it is not a Python file."""
    if not path.endswith(ENDING) or not host.is_file(path):
        return None
    folders = [folder for folder in (python_path or "").split(":") if folder]
    # Its source, which is a file in the archive that Ansible sends.
    program = pkgutil.get_data(str(imports.__package__), "imports.py") or b""
    result = Budget(host).run([interpreter, "-c", program.decode(), path, *folders], TIMEOUT_S, code_dir)
    answer = as_dict(parse_json(result.out)) if result.rc == 0 else {}
    if not isinstance(answer.get("missing"), list):
        return Script(path, why=clean(result.why(TIMEOUT_S)))
    fault = answer.get("fault")
    return Script(
        path,
        line=answer["line"] if isinstance(answer.get("line"), int) else None,
        fault=clean(str(fault))[:LIMIT] if fault is not None else None,
        missing=[clean(str(name))[:LIMIT] for name in answer["missing"]],
    )
