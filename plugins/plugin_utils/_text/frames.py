# SPDX-License-Identifier: GPL-3.0-or-later
"""Files as a raw command prints them, between markers: a login shell may print whatever it likes around them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

# The marker is alone on a line before each file and after the last, even after a text without a newline.
_SCRIPT = r"""marker=$1; shift; for path; do printf '\n%s\n' "$marker"; cat "$path"; done; printf '\n%s\n' $marker"""
# The last file that is there, only its last bytes.
_TAIL = r"""marker=$1; bytes=$2; shift 2; for path; do [ -s "$path" ] && log=$path; done
[ -z "$log" ] || tail -c "$bytes" "$log"; printf '\n%s\n' $marker"""


def framed_read(marker: str, paths: Sequence[str], logs: Sequence[str] = (), tail_bytes: int = 0) -> str:
    """Return the command that prints these files; the marker must be new for each read.

    With logs, the end of the last of them that has something follows as one more text.
    """
    command = shlex.join(["sh", "-c", _SCRIPT, "sh", marker, *paths])
    return f"{command}; {shlex.join(['sh', '-c', _TAIL, 'sh', marker, str(tail_bytes), *logs])}" if logs else command


def framed_texts(output: str, marker: str, count: int) -> list[str] | None:
    """Return the text of each of `count` files; None where a marker is missing."""
    parts = re.split(rf"^{re.escape(marker)}\r?$", output, flags=re.MULTILINE)
    return parts[1:-1] if len(parts) == count + 2 else None
