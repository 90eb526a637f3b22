# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What logind ends with a user's last session: switches of logind.conf(5)."""

from __future__ import annotations

import os
import re

from .._host.host import Host

# The strongest first; of a drop-in's name the strongest folder's file is read (logind.conf(5)).
FOLDERS = ("/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd")
_SWITCH = re.compile(r"^[ \t]*(KillUserProcesses|RemoveIPC)[ \t]*=[ \t]*(\w+)[ \t]*$", re.MULTILINE)
# parse_boolean in systemd's src/basic/parse-util.c.
_YES, _NO = ("1", "yes", "y", "true", "t", "on"), ("0", "no", "n", "false", "f", "off")


def parse_logind(text: str) -> dict[str, bool]:
    """Return the switches that a file sets; of one name the last."""
    return {name: value.lower() in _YES for name, value in _SWITCH.findall(text) if value.lower() in (*_YES, *_NO)}


def read_logind(host: Host) -> dict[str, bool]:
    """Return the switches as logind reads them: one logind.conf, then the drop-ins by their names."""
    texts = (host.read_text(f"{folder}/logind.conf") for folder in FOLDERS)
    switches = parse_logind(next((text for text in texts if text is not None), ""))
    drop_ins: dict[str, str] = {}
    for folder in reversed(FOLDERS):
        place = f"{folder}/logind.conf.d"
        names = host.list_dir(place) or []
        drop_ins.update({name: os.path.join(place, name) for name in names if name.endswith(".conf")})
    for name in sorted(drop_ins):
        switches.update(parse_logind(host.read_text(drop_ins[name]) or ""))
    return switches
