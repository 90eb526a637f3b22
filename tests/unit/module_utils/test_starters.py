# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which way a runner is started on which node, and the systemd command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils import _starters
from ansible_collections.muster.train.plugins.module_utils._host import Host
from ansible_collections.muster.train.plugins.module_utils._starters import StartError, choose_starter
from ansible_collections.muster.train.tests.jobs import make_job


class Node(Host):
    """A machine below tmp_path that somebody else looks at."""

    def __init__(self, root: Path, uid: int, booted: bool, linger: bool) -> None:
        super().__init__(root=str(root))
        self._uid = uid
        files = {"usr/bin/systemd-run": True, "run/systemd/system/x": booted, "var/lib/systemd/linger/ann": linger}
        for name in (name for name, there in files.items() if there):
            (root / name).parent.mkdir(parents=True)
            (root / name).touch(0o755)

    def user_id(self) -> int:
        return self._uid

    def user_name(self) -> str:
        return "ann"


@pytest.mark.parametrize(
    ("uid", "booted", "linger", "asked", "name"),
    [
        (0, True, False, "auto", "systemd"),
        (1000, True, True, "auto", "systemd-user"),
        (1000, True, False, "auto", "setsid"),
        (0, False, True, "auto", "setsid"),
        (0, True, True, "setsid", "setsid"),
        (0, True, False, "systemd", "systemd"),
    ],
)
def test_choice(tmp_path: Path, uid: int, booted: bool, linger: bool, asked: str, name: str) -> None:
    host = Node(tmp_path, uid, booted, linger)
    assert choose_starter(host, make_job(tmp_path, ["true"], starter=asked)).name == name


def test_systemd_that_is_not_there_is_refused(tmp_path: Path) -> None:
    host = Node(tmp_path, 1000, booted=True, linger=False)
    with pytest.raises(StartError, match=r"uid 1000 .* loginctl enable-linger"):
        choose_starter(host, make_job(tmp_path, ["true"], starter="systemd"))


def test_the_unit_raises_memlock_and_carries_no_environment(tmp_path: Path) -> None:
    job = make_job(tmp_path, ["true"], stop_grace=30)
    command = _starters.Systemd(user=False).command(job, ["/usr/bin/env", "A=1", "python3"])
    assert command[:4] == ["systemd-run", "--system", "--quiet", "--collect"]
    assert {"--property=LimitMEMLOCK=infinity", "--property=KillMode=mixed", "--property=TimeoutStopSec=45"} <= {
        *command
    }
    assert command[-4:] == ["--", "/usr/bin/env", "A=1", "python3"]
    assert not [word for word in command if word.startswith("--setenv")]
    assert _starters.Systemd(user=True).command(job, [])[2:4] == ["systemd-run", "--user"]
