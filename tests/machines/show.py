# SPDX-License-Identifier: GPL-3.0-or-later
"""Another name for `tools/machine.py show`."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.argv.insert(1, "show")
    runpy.run_path(str(Path(__file__).resolve().parents[2] / "tools" / "machine.py"), run_name="__main__")
