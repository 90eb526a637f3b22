# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the collection's tarball and import it as Galaxy does (galaxy-importer): `make importer`.

usage: IMPORTER-PYTHON tools/importer.py

Exits with 1 if the tarball cannot be built, is rejected, or is accepted with a warning.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ACCEPTED = "Importer processing completed successfully"
# One line for each file, which says nothing of a problem.
QUIET = "Loading "


def main() -> int:
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # It writes its result into the working directory, and ansible-doc a cache into the home directory.
    with tempfile.TemporaryDirectory(prefix="muster-importer-") as place:
        build = subprocess.run(["ansible-galaxy", "collection", "build", "--output-path", place], cwd=ROOT, check=False)
        if build.returncode:
            return 1
        tarball = next(Path(place).glob("*.tar.gz"))
        command = [sys.executable, "-m", "galaxy_importer.main", str(tarball)]
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
    raise SystemExit(main())
