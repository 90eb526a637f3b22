# SPDX-License-Identifier: GPL-3.0-or-later
"""Small readers of sysfs attributes.

An attribute is one short line. Absent, unreadable (EINVAL is common) and empty are all None.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from .host import Host

INFINIBAND = "/sys/class/infiniband"
_NUMBER = re.compile(r"(?:0x([0-9a-fA-F]{1,16})|([0-9]{1,20}))")


def text(host: Host, path: str) -> str | None:
    """Return the attribute."""
    content = host.read_text(path, 4096)
    return None if content is None else _line(content)


def texts(host: Host, folder: str, names: Iterable[str]) -> dict[str, str]:
    """Return the attributes of a folder that are not empty."""
    contents = host.read_folder(folder, names)
    lines = {name: _line(content.decode("utf-8", "replace")) for name, content in contents.items()}
    return {name: line for name, line in lines.items() if line is not None}


def _line(content: str) -> str | None:
    return content.strip(" \t\r\n\0") or None


def number(value: str | None) -> int | None:
    """Return the number of an attribute in decimal or 0x notation; negative ones (-1: does not apply) are None."""
    match = _NUMBER.fullmatch(value or "")
    if match is None:
        return None
    return int(match.group(1), 16) if match.group(1) else int(match.group(2))


def word(value: str | None) -> str | None:
    """Return the word of an attribute that comes with its number, such as "4: ACTIVE"."""
    return None if value is None else value.partition(":")[2].strip() or value


def cannot_list(host: Host, path: str) -> str | None:
    """Return why a directory cannot be listed; None if it can, or does not exist."""
    if host.list_dir(path) is not None:
        return None
    real = host.resolve(path)
    if real is None:
        return f"{path} is a loop of links"
    folder = ""
    for name in real.strip("/").split("/"):
        # A file in a directory that may not be searched cannot be distinguished from one that does not exist.
        if host.is_dir(folder or "/") and not host.allows(folder or "/", os.X_OK):
            return f"{folder or '/'} cannot be searched: permission denied"
        folder += "/" + name
    if host.is_dir(path):
        return f"{path} cannot be listed"
    return f"{path} is not a directory" if host.exists(path) or host.is_link(path) else None
