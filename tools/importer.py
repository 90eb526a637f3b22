# SPDX-License-Identifier: GPL-3.0-or-later
"""Import the collection's tarball as Galaxy does (galaxy-importer): `make importer`.

usage: IMPORTER-PYTHON tools/importer.py TARBALL

Exits with 1 if the tarball is rejected, or accepted with a warning.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ACCEPTED = "Importer processing completed successfully"
# One line for each file, which says nothing of a problem.
QUIET = "Loading "


def main(tarball: Path) -> int:
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [sys.executable, "-m", "galaxy_importer.main", str(tarball.resolve())]
    # It writes its result into the working directory, and ansible-doc a cache into the home directory.
    with tempfile.TemporaryDirectory(prefix="muster-importer-") as place:
        environment = {**os.environ, "PATH": tools, "HOME": place}
        process = subprocess.run(
            command,
            cwd=place,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    lines = [line for line in process.stdout.splitlines() if line.strip() and not line.startswith(QUIET)]
    print("\n".join(lines))
    problems = [line for line in lines if line.startswith(("WARNING", "ERROR"))]
    if process.returncode or problems or ACCEPTED not in lines:
        print(f"muster: galaxy-importer does not accept {tarball.name} without a warning, see above", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
