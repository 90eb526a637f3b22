# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a person sits who has hosts and no inventory yet."""

from __future__ import annotations

import getpass
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.muster.train.tests.support import sshd
from ansible_collections.muster.train.tests.support.play import PLAYBOOK, ROOT, Played, run_to_end


@dataclass
class Desk:
    """Where a person sits who has hosts and no inventory yet."""

    home: Path
    server: sshd.Sshd

    @property
    def cluster(self) -> Path:
        """The inventory that is made."""
        return self.home / "inventories" / "lab"

    def command(self, verb: str, *extra: str, inventory: str | None = None, **parameters: Any) -> list[str]:
        source = inventory or str(ROOT / "inventories" / "local")
        playbook = str(ROOT / "playbooks" / f"{verb}.yml")
        return [*PLAYBOOK, "-i", source, playbook, "-e", json.dumps(parameters), *extra]

    def environment(self) -> dict[str, str]:
        local = {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_LOCAL_TEMP": str(self.home / "local_tmp")}
        return {**os.environ, **local, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"), "COLUMNS": "160"}

    def run(self, verb: str, *extra: str, inventory: str | None = None, **parameters: Any) -> Played:
        played = run_to_end(
            self.command(verb, *extra, inventory=inventory, **parameters), self.environment(), self.home, timeout=240
        )
        assert "Traceback" not in played.out
        return played

    def discover(self, *extra: str, **parameters: Any) -> Played:
        known = {
            "cluster": "lab",
            "user": getpass.getuser(),
            "ansible_ssh_private_key_file": str(self.server.base / "login_key"),
            "ansible_ssh_extra_args": "-F none -o IdentitiesOnly=yes",
        }
        return self.run("discover", *extra, **{**known, **parameters})

    def files(self) -> list[str]:
        base = self.home / "inventories"
        return sorted(str(path.relative_to(base)) for path in base.rglob("*") if path.is_file())

    def load(self, name: str) -> Any:
        return yaml.safe_load((self.cluster / name).read_text())
