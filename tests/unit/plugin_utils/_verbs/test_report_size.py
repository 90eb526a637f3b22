# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb `report` on a long run of many ranks: the size of its page, and the memory that it takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support.report_parts import line, text_of, write_experiment

RANKS, STEPS = 64, 10_000
MOST_PAGE, MOST_MEMORY_KIB = 3_000_000, 500_000_000 >> 10
# The peak is that of the program alone: ru_maxrss would begin with that of the process that started it.
REPORT = """
import json, sys
from ansible_collections.muster.train.plugins.plugin_utils._verbs import report
from ansible_collections.muster.train.tests.support.verbs import play_of

concluded = report.write.conclusion(play_of("report", {}, run_id=sys.argv[2], experiments=sys.argv[1]))
sizes = {file.path.name: len(file.text.encode()) for file in concluded.files}
[peak] = [row.split()[1] for row in open("/proc/self/status") if row.startswith("VmHWM:")]
print(json.dumps({"ranks": len(concluded.document["ranks"]), "page": sizes["report.html"], "peak": int(peak)}))
"""


@pytest.mark.slow
def test_a_long_run_of_many_ranks_makes_a_small_page_in_little_memory(tmp_path: Path) -> None:
    home = write_experiment(tmp_path, world_size=RANKS)
    text = text_of(line(0, step, lr=1.5e-4, step_ms=100 + step * 13 % 11 / 7) for step in range(1, STEPS + 1))
    for rank in range(RANKS):
        (home / "outputs" / f"rank_{rank:02d}_metrics.jsonl").write_text(text)
    command = [sys.executable, "-c", REPORT, str(tmp_path), home.name]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=110)
    known = json.loads(done.stdout)
    assert known["ranks"] == RANKS
    assert known["page"] < MOST_PAGE
    assert known["peak"] < MOST_MEMORY_KIB
