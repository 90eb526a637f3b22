# SPDX-License-Identifier: GPL-3.0-or-later
"""The phases of a node's part of a run. The runner takes this file along."""

from __future__ import annotations

# Of nodes that gave no answer, that have no runner, and that have one.
SILENT = ("unreachable", "unknown")
NOT_BEGUN = ("not_found", "prepared")
ACTIVE = ("waiting", "running", "drained", "stopping")
# The last phases of a run. Only `stop` writes `lost`: elsewhere a reader derives it where no runner lives.
ENDED = ("succeeded", "failed", "stopped", "lost")
