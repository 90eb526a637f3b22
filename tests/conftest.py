# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the checkout importable as ansible_collections.muster.train, so that `pytest` alone is enough."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

# What a test's marker may say; one without is `unit` or `local`, by its folder.
STAGES = {"slow", "hosts", "cores", "slurm", "k8s"}
# What .ci/run installs the tools of.
MUST_RUN = {"gate", "hosts", "cores", "slurm"}
# Real hosts are created once per worker, so all files that use three of them go to two workers.
ON_REAL_HOSTS = {
    "scenarios": ("test_hosts.py", "test_releases.py"),
    "faults": (
        *("test_whole_way.py", "test_shared_home.py", "test_live_faults.py", "test_live_gang.py"),
        *("mutations.py", "test_secrets.py"),
    ),
}
ROOT = Path(__file__).resolve().parent.parent
LINK = ROOT / "collections" / "ansible_collections" / "muster" / "train"

if not LINK.exists():
    LINK.unlink(missing_ok=True)
    LINK.parent.mkdir(parents=True, exist_ok=True)
    LINK.symlink_to(Path("..", "..", ".."), target_is_directory=True)
if LINK.resolve() != ROOT:
    raise pytest.UsageError(f"{LINK} is not a link to this checkout; the tests would test it instead: remove it")

# Tests read what Ansible's own callback prints; those of `brief` ask for it.
os.environ.setdefault("ANSIBLE_STDOUT_CALLBACK", "ansible.builtin.default")
sys.path.insert(0, str(ROOT / "collections"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail a test that is skipped where CI has installed what it needs."""
    report = yield
    if report.skipped and os.environ.get("CI") == "true" and MUST_RUN & {marker.name for marker in item.iter_markers()}:
        report.outcome, report.longrepr = "failed", f"it must run here, and was skipped: {report.longrepr[-1]}"
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every test its stage, and begin with the longest, so that none is alone in the end."""
    for item in items:
        if not STAGES & {marker.name for marker in item.iter_markers()}:
            item.add_marker("unit" if (ROOT / "tests" / "unit") in item.path.parents else "local")
    first = ["test_real_host.py", *(name for names in ON_REAL_HOSTS.values() for name in names), "test_molecule.py"]
    items.sort(key=lambda item: first.index(item.path.name) if item.path.name in first else len(first))


try:
    from xdist.scheduler import LoadScopeScheduling
except ImportError:  # without pytest-xdist there is one process anyway
    pass
else:

    class Scopes(LoadScopeScheduling):
        """Files as --dist=loadscope has them, but those on the real hosts are two; one where the hosts are given."""

        def _split_scope(self, nodeid: str) -> str:
            scope = super()._split_scope(nodeid)
            groups = [group for group, names in ON_REAL_HOSTS.items() if scope.endswith(names)]
            return "real hosts" if groups and os.environ.get("MUSTER_TEST_INVENTORY") else (groups or [scope])[0]

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
        """Let no two processes play on the same real hosts, and few make some."""
        return Scopes(config, log) if config.getvalue("dist") == "loadscope" else None
