# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Show what the collection sees in machines as text, and what it would set there: `show.py --help`, README.md."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    runpy.run_path(str(Path(__file__).resolve().with_name("_checkout.py")))
    from ansible_collections.muster.train.tests.machines._show import main

    sys.exit(main(sys.argv[1:]))
