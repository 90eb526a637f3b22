# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes down what it was given, says what it was told to, and fails once there is a file."""

import json
import os
import sys
import time

given = {"argv": sys.argv[1:], "environment": dict(os.environ)}
with open(os.path.join(os.environ["MUSTER_OUTPUT_DIR"], f"rank_0{os.environ['RANK']}.json"), "w") as stream:
    json.dump(given, stream)
for text in json.loads(os.environ["PRINT"]):
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
sys.stdout.flush()
for _moment in range(600):
    if os.path.exists(os.environ["UNTIL"]):
        break
    time.sleep(0.1)
raise RuntimeError("\x1b[2J\x1b]0;title\x07\x9b31m\u202e {{ 7 * 7 }} the end")
