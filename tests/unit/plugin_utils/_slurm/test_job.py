# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs as squeue and scontrol print them."""

from __future__ import annotations

import random

from ansible_collections.muster.train.plugins.plugin_utils._slurm.job import (
    SlurmJob,
    parse_gpus,
    parse_jobs,
    parse_kill_wait,
)

QUEUE = """\
1|COMPLETED|None|gpu[01-04]|1796004109|1796004109|10:00|hostname
3|PENDING|Resources||1796004720|1796004900|10:00|a | b
4|PENDING|Priority||N/A|N/A|10:00|late
2|RUNNING|None|gpu[01-04]|1796004120|1827540120|UNLIMITED|train
slurm_load_jobs error: Invalid job id specified
"""
# Of scontrol 22.05, where two nodes have two GPUs each and a third has one.
DETAILS = """\
JobId=2 JobName=train
   TresPerNode=gres:gpu:2
   JOB_GRES=gpu:h100:5
     Nodes=gpu[01-02] CPU_IDs=0-7 Mem=0 GRES=gpu:h100:2(IDX:0-1)
     Nodes=gpu03 CPU_IDs=0-7 Mem=4000 GRES=gpu:h100:1(IDX:0),shard:h100:2(IDX:1)
     Nodes=cpu01 CPU_IDs=0 Mem=0 GRES=
   MinCPUsNode=1
"""


def test_the_jobs_of_a_queue() -> None:
    ended, waiting, late, running = parse_jobs(QUEUE)
    assert running == SlurmJob("2", "RUNNING", "None", "gpu[01-04]", 1796004120, None, "train")
    assert waiting == SlurmJob("3", "PENDING", "Resources", "", 1796004720, 1796004900, "a | b")
    assert (late.start, late.end) == (None, None)
    assert [(job.has_nodes, job.waits) for job in (ended, waiting, running)] == [
        (False, False),
        (False, True),
        (True, False),
    ]


def test_the_gpus_of_a_job_by_its_nodes() -> None:
    assert parse_gpus(DETAILS) == {"gpu[01-02]": 2, "gpu03": 1, "cpu01": 0}
    assert parse_gpus("Nodes=gpu01 CPU_IDs=0-3 Mem=0 GRES=gpu:a100:4(IDX:0-3),gpu:v100:2(IDX:4-5)") == {"gpu01": 6}


def test_the_time_between_the_signals_of_the_end() -> None:
    assert parse_kill_wait("KillOnBadExit           = 0\nKillWait                = 30 sec\n") == 30
    assert parse_kill_wait("") is None


def test_no_text_is_an_exception() -> None:
    chance = random.Random(42)
    for _round in range(500):
        parts = list(QUEUE + DETAILS)
        for _change in range(20):
            place = chance.randrange(len(parts))
            parts[place : place + chance.randrange(3)] = chance.choice(
                ["", "|", "\n", "=", "(", "9" * 40, "\0", "\u0663"]
            )
        for parse in (parse_jobs, parse_gpus, parse_kill_wait):
            parse("".join(parts))
