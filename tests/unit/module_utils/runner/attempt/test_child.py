# SPDX-License-Identifier: GPL-3.0-or-later
"""What a launcher inherits from the runner."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils.runner.attempt.child import Child

SCRIPT = "import resource; print(*resource.getrlimit(resource.RLIMIT_NOFILE))"


def test_a_rank_may_open_as_many_files_as_the_login_allows(tmp_path: Path) -> None:
    """Whatever the runner's soft limit is: the head's differs from a member's."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    output = tmp_path / "output"
    for limit in (soft, min(hard, 300)):
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        try:
            with output.open("w") as stream:
                child = Child([sys.executable, "-c", SCRIPT], dict(os.environ), str(tmp_path), stream.fileno(), ())
                child._process.wait(60)
        except subprocess.TimeoutExpired:
            child.signal_tree(signal.SIGKILL)
            raise
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert output.read_text().split() == [str(hard)] * 2
