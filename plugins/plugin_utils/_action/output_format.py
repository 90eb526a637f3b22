# SPDX-License-Identifier: GPL-3.0-or-later
"""What form of output was asked for on the command line, before any request has been checked."""

from __future__ import annotations

from typing import Any

from ansible.utils.vars import load_extra_vars

# One JSON document, and JSON lines that end with it.
JSON, JSON_LINES = "json", "jsonl"
# Forms that a program reads: the standard output has the document, and nothing else.
DOCUMENTS = (JSON, JSON_LINES, "csv")


def requested_format(loader: Any) -> str:
    """Return the value of -e output=..., `table` if there is none; loader is Ansible's DataLoader."""
    return str(load_extra_vars(loader).get("output") or "table")


def is_document_requested(loader: Any) -> bool:
    """Whether the standard output must be one document."""
    return requested_format(loader) in DOCUMENTS
