# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes what it was given, and files of given sizes, to the directory that it has by argument."""

import argparse
import json
import os
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--out", type=Path, required=True)
parser.add_argument("--file", nargs=2, action="append", default=[], metavar=("NAME", "BYTES"))
parser.add_argument("rest", nargs="*")
given = parser.parse_args()
given.out.mkdir(parents=True, exist_ok=True)
variables = {name: value for name, value in os.environ.items() if name.startswith("TEST_")}
name = f"rank_{int(os.environ['RANK']):02d}_given.json"
(given.out / name).write_text(json.dumps({"rest": given.rest, "variables": variables}))
for name, size in given.file:
    (given.out / name).parent.mkdir(parents=True, exist_ok=True)
    (given.out / name).write_bytes(bytes(int(size)))
