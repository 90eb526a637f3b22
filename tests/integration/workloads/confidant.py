# SPDX-License-Identifier: GPL-3.0-or-later
"""A rank that was told a secret: proves that it knows it without telling it."""

from __future__ import annotations

import hashlib
import os
import time

token = os.environ["MUSTER_TEST_TOKEN"]
print("knows", hashlib.sha256(token.encode()).hexdigest(), flush=True)
# Long enough to look at its processes.
time.sleep(2)
