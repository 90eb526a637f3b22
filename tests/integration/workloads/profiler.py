# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands for rocprofv3 and nsys: writes down what it was given, where the real one writes its trace.

As rocprofv3 it becomes the command. As nsys it stays its parent, and does not hand on the signals that it gets.
"""

import json
import os
import socket
import subprocess
import sys

VERSIONS = {"rocprofv3": "             version: 1.1.0\n", "nsys": "NVIDIA Nsight Systems version 2025.3.2\n"}
name, words = os.path.basename(sys.argv[0]), sys.argv[1:]
if words == ["--version"]:
    sys.stdout.write(VERSIONS[name])
    raise SystemExit
rank = os.environ["RANK"]
if name == "rocprofv3":
    end = words.index("--")
    command = words[end + 1 :]
    folder = words[words.index("-d") + 1].replace("%env{RANK}%", rank)
    trace = os.path.join(folder, socket.gethostname(), f"{os.getpid()}_kernel_trace.json")
else:
    end = words.index("-o") + 2
    while words[end].startswith("-"):
        end += 1
    command = words[end:]
    trace = words[words.index("-o") + 1].replace("%q{RANK}", rank).replace("%p", str(os.getpid())) + ".nsys-rep"
os.makedirs(os.path.dirname(trace), exist_ok=True)
with open(trace, "w") as stream:
    json.dump({"argv": words[:end], "command": command, "node": os.environ["MUSTER_NODE"], "rank": rank}, stream)
if name == "rocprofv3":
    os.execvp(command[0], command)
raise SystemExit(subprocess.run(command, check=False).returncode)
