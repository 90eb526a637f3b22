# SPDX-License-Identifier: GPL-3.0-or-later
"""A rank that leaves files that are awkward to copy: odd names, a long name, several parts, a log of its own."""

from __future__ import annotations

import os

outputs = os.fsencode(os.environ["MUSTER_OUTPUT_DIR"])
logs = os.path.join(os.fsencode(os.environ["MUSTER_RUN_DIR"]), b"logs")
rank = os.environ["RANK"].encode()
for folder, name in (
    (outputs, b"caf\xe9"),
    (outputs, b"line\n!true"),
    (outputs, b"n" * 250),
    (outputs, b"it's a [file]*"),
    (logs, b"rank_%s_x.log" % rank),
):
    with open(os.path.join(folder, name), "wb") as stream:
        stream.write(name)
with open(os.path.join(outputs, b"large"), "wb") as stream:  # more than one part
    stream.write(os.urandom(9 << 20))
