# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the commands of the argument ({name: argv}, as JSON) and answer {name: {rc, out, err}}: one round trip."""

from __future__ import annotations

import json
import subprocess
import sys

answers = {}
for name, argv in json.loads(sys.argv[1]).items():
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    answers[name] = {"rc": done.returncode, "out": done.stdout.strip(), "err": done.stderr.strip()}
sys.stdout.write(json.dumps(answers))
