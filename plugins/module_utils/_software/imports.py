# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps a script from starting: a program for the interpreter that is to run it, which reads it and runs nothing.

`python -c PROGRAM SCRIPT FOLDER...`, where the folders are those of PYTHONPATH, prints
`{"line": null, "fault": null, "missing": ["lightning"]}`.
"""

from __future__ import annotations

import ast
import io
import json
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib.util import find_spec

WITHOUT_FILE = ("built-in", "frozen")


def first_imports(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Yield the modules that a script imports before it does anything else, which could change where they are found."""
    for statement in body:
        if isinstance(statement, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            if statement.level == 0 and statement.module:
                yield statement.module.partition(".")[0]
        elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            return


def missing_modules(names: Iterable[str]) -> Iterator[str]:
    """Yield the modules that are not found, up to one of the user's own, which could change where others are found."""
    folders = (*sysconfig.get_paths().values(), *site.getsitepackages(), site.getusersitepackages())
    installed = tuple(os.path.join(folder, "") for folder in folders)
    for name in names:
        try:
            spec = find_spec(name)
        except (ImportError, ValueError):  # as for __main__
            return
        if spec is None:
            yield name
        elif spec.origin not in WITHOUT_FILE and not (spec.origin or "").startswith(installed):
            return


def main(script: str, *folders: str) -> None:
    """Print what keeps the script from starting."""
    sys.path[:1] = [os.path.dirname(script), *folders]
    with io.open_code(script) as stream:
        source = stream.read()
    answer: dict[str, object] = {"line": None, "fault": None, "missing": []}
    try:
        tree = ast.parse(source, script)
        compile(tree, script, "exec", dont_inherit=True)
    except SyntaxError as error:
        answer.update(line=error.lineno, fault=error.msg)
    else:
        answer.update(missing=list(dict.fromkeys(missing_modules(first_imports(tree.body)))))
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
