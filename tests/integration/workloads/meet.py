# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep a play waiting until so many have come to the same place: what a race needs. Prints an empty mapping.

usage: meet.py DIRECTORY HOW_MANY
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

place, how_many = Path(sys.argv[1]), int(sys.argv[2])
(place / str(os.getpid())).touch()
deadline = time.monotonic() + 180
while len(list(place.iterdir())) < how_many and time.monotonic() < deadline:
    time.sleep(0.005)
print("{}")
