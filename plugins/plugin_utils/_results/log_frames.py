# SPDX-License-Identifier: GPL-3.0-or-later
"""What is new in a folder of growing files, as a raw command prints it: in base64, between markers."""

from __future__ import annotations

import base64
import binascii
import re
import shlex
from collections.abc import Mapping, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

# The documents come first: what they say of an end is true of the files that are read after them. A file is known by
# its inode, as a full log is renamed. One that has grown by more than `most` bytes is read from there on.
_SCRIPT = r"""
marker=$1 folder=$2 names=$3 most=$4 known=$5
shift 5
printf '\n'
for path; do printf '%s document\n' "$marker"; base64 "$path" 2>&1; done
cd "$folder" 2>/dev/null && for name in $names; do
    [ -f "$name" ] && [ ! -L "$name" ] || continue
    set -- $(stat -c '%i %s' "$name")
    [ $# -eq 2 ] || continue
    case $known in *" $1:"*) from=${known##* "$1":}; from=${from%% *} ;; *) from=0 ;; esac
    [ "$from" -le "$2" ] || from=0
    [ $(($2 - from)) -le "$most" ] || from=$(($2 - most))
    printf '%s file %s %s %s %s\n' "$marker" "$name" "$1" "$from" "$2"
    [ "$from" -eq "$2" ] || tail -c "+$((from + 1))" "$name" | head -c "$(($2 - from))" | base64
done
printf '%s end\n' "$marker"
"""
_FILE = re.compile(r"(\S{1,255}) ([0-9]{1,20}) ([0-9]{1,18}) ([0-9]{1,18})", re.ASCII)


@frozen
class FilePart:
    """What was read of a file: its bytes from an offset to its size at that moment."""

    name: str
    inode: str
    start: int
    size: int
    data: bytes


@frozen
class FolderNews:
    """The documents, or why one could not be read, and a part of each file, empty where the file has not grown."""

    documents: list[str]
    parts: list[FilePart]


def read_news(
    marker: str, documents: Sequence[str], folder: str, names: str, most: int, known: Mapping[str, int]
) -> str:
    """Return the command that prints what is new; known: how much of each inode was read."""
    positions = "".join(f" {inode}:{offset}" for inode, offset in known.items())
    return shlex.join(["sh", "-c", _SCRIPT, "sh", marker, folder, names, str(most), positions, *documents])


def parse_news(output: str, marker: str) -> FolderNews | None:
    """Return what the command printed; None where its end is missing."""
    documents, parts, is_whole = [], [], False
    for block in re.split(rf"^{re.escape(marker)} ", output, flags=re.MULTILINE)[1:]:
        head, _newline, body = block.partition("\n")
        kind, _blank, rest = head.rstrip("\r").partition(" ")
        if kind == "end":
            is_whole = True
        elif kind == "document":
            documents.append(_document(body))
        elif match := _FILE.fullmatch(rest):
            data = _decoded(body)
            parts.append(FilePart(match[1], match[2], int(match[3]), int(match[4]), data))
    return FolderNews(documents, parts) if is_whole else None


def _document(body: str) -> str:
    """Return a document, or what was printed in its place."""
    try:
        return base64.b64decode("".join(body.split()), validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return body


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError):
        return b""
