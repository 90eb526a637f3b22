# SPDX-License-Identifier: GPL-3.0-or-later
"""What logind ends with a user's last session: settings of logind.conf(5)."""

from __future__ import annotations

import os
import re

from .._host.host import Host
from .._records.frozen import field, frozen

# The strongest first; of a drop-in's name the strongest folder's file is read (logind.conf(5)).
FOLDERS = ("/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd")
_LISTS = ("KillOnlyUsers", "KillExcludeUsers")
_SETTING = re.compile(
    rf"^[ \t]*(KillUserProcesses|RemoveIPC|{'|'.join(_LISTS)})[ \t]*=[ \t]*(.*?)[ \t]*$", re.MULTILINE
)
# parse_boolean in systemd's src/basic/parse-util.c.
_YES, _NO = ("1", "yes", "y", "true", "t", "on"), ("0", "no", "n", "false", "f", "off")


@frozen
class Logind:
    """The switches that are set, and the lists of users."""

    switches: dict[str, bool] = field(default_factory=dict)
    users: dict[str, list[str]] = field(default_factory=dict)

    def kills(self, user: str) -> bool | None:
        """Return whether the processes of this user end with their session (manager_shall_kill); None: not set."""
        only = self.users.get("KillOnlyUsers")
        switch = user in only if only else self.switches.get("KillUserProcesses")
        return switch and user not in self.users.get("KillExcludeUsers", ["root"])


def parse_logind(text: str) -> Logind:
    """Return what the files, one after the other, set: of a switch the last, of a list what follows the last empty."""
    switches: dict[str, bool] = {}
    users: dict[str, list[str]] = {}
    for name, value in _SETTING.findall(text):
        if name in _LISTS:
            users[name] = [*users.get(name, []), *value.split()] if value else []
        elif value.lower() in (*_YES, *_NO):
            switches[name] = value.lower() in _YES
    return Logind(switches, users)


def read_logind(host: Host) -> Logind:
    """Return the settings as logind reads them: one logind.conf, then the drop-ins by their names."""
    files = (host.read_text(f"{folder}/logind.conf") for folder in FOLDERS)
    texts = [next((text for text in files if text is not None), "")]
    drop_ins: dict[str, str] = {}
    for folder in reversed(FOLDERS):
        place = f"{folder}/logind.conf.d"
        names = host.list_dir(place) or []
        drop_ins.update({name: os.path.join(place, name) for name in names if name.endswith(".conf")})
    texts += [host.read_text(drop_ins[name]) or "" for name in sorted(drop_ins)]
    return parse_logind("\n".join(texts))
