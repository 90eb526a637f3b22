# SPDX-License-Identifier: GPL-3.0-or-later
"""What one look of `hang_watch` at many ranks of a node costs: seconds, CPU here and in all ranks together.

The ranks sleep. Each has a flight recorder as torch's, full, and so many threads.

usage: python tests/benchmark/look_cost.py [--ranks N] [--entries N] [--threads N]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

from ansible_collections.muster.train.plugins.module_utils.runner.hang import look
from ansible_collections.muster.train.plugins.module_utils.runner.hang.usage import parse_cpu
from ansible_collections.muster.train.plugins.module_utils.runner.stacks import sitecustomize
from ansible_collections.muster.train.tests.support.jobs import make_job

PROGRAM = """
import json, os, sys, threading, time, types
frames = [{"name": "all_reduce", "filename": "/venv/lib/python3.12/site-packages/torch/f.py", "line": 99}] * 12
entry = {"record_id": 1, "pg_id": 0, "process_group": ["0", "default_pg"], "p2p_seq_id": 0, "op_id": 7,
         "frames": frames, "profiling_name": "nccl:all_reduce", "time_created_ns": 1796004126254754109,
         "input_sizes": [[4096, 4096]],
         "input_dtypes": ["Float"], "output_sizes": [[4096, 4096]], "output_dtypes": ["Float"], "is_p2p": False,
         "state": "completed", "time_discovered_started_ns": 0, "timeout_ms": 600000, "retired": True}
entries = [{**entry, "collective_seq_id": number} for number in range(ENTRIES)]
text = json.dumps({"version": "2.10", "pg_config": {}, "entries": entries}).encode()
sys.modules["torch._C._distributed_c10d"] = types.SimpleNamespace(_dump_nccl_trace_json=lambda: text)
for _number in range(THREADS):
    threading.Thread(target=time.sleep, args=[600], daemon=True).start()
os.write(1, b"ready\\n")
time.sleep(600)
"""


def cpu_s(processes: list[subprocess.Popen[bytes]]) -> float:
    return sum(parse_cpu(Path(f"/proc/{process.pid}/stat").read_text()) for process in processes)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--entries", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=8)
    args = parser.parse_args()
    program = PROGRAM.replace("ENTRIES", str(args.entries)).replace("THREADS", str(args.threads))
    ranks: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory() as home:
        job = make_job(Path(home), [], nproc=args.ranks)
        Path(job.run_dir).mkdir(parents=True)
        site = Path(home, "site.zip")
        with zipfile.ZipFile(site, "w") as archive:
            archive.write(str(sitecustomize.__file__), "sitecustomize.py")
        marks = {"MUSTER_RUN_ID": job.run_id, "MUSTER_RUN_DIR": job.run_dir, "MUSTER_HANG_WATCH": "120"}
        try:
            for rank in range(args.ranks):
                variables = {**os.environ, **marks, "RANK": str(rank), "PYTHONPATH": str(site)}
                command = [sys.executable, "-c", program]
                ranks.append(subprocess.Popen(command, env=variables, stdout=subprocess.PIPE))
            for process in ranks:
                assert process.stdout is not None
                process.stdout.readline()
            looker, before = look.Looker(job, job.run_dir, sys.executable), cpu_s(ranks)
            began, here = time.monotonic(), time.process_time()
            looker.follow({"type": "look", "number": 1})
            while (answer := looker.take_answer()) is None:
                time.sleep(0.1)
            seconds, here = time.monotonic() - began, time.process_time() - here
            known = {
                "ranks": sum(len(position.ranks) for position in answer.positions),
                "seconds": round(seconds, 2),
                "cpu_here_s": round(here, 2),
                "cpu_in_a_rank_s": round((cpu_s(ranks) - before) / args.ranks, 3),
                "answer_bytes": len(json.dumps(answer.to_short_dict())),
            }
            print(json.dumps(known))
        finally:
            for process in ranks:
                process.kill()
                process.communicate()


if __name__ == "__main__":
    main()
