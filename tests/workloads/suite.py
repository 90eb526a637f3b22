# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs of libraries that know nothing of Muster: two nodes with two ranks each, launched from a checkout.

`make workloads` runs this file; its libraries are in an environment of their own (requirements-workloads.txt).
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sqlite3
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for
from ansible_collections.muster.train.tests.support.play import ROOT

SIZE = ["--devices", "2", "--num-nodes", "{nnodes}"]
HUGGING_FACE = [
    *("--output_dir", "{output_dir}/trainer", "--use_cpu", "--max_steps", "4", "--save_steps", "2"),
    *("--logging_steps", "1", "--per_device_train_batch_size", "2", "--report_to", "none"),
]
TORCHRUN: dict[str, dict[str, Any]] = {
    "lightning-trainer": {"script": "lightning_trainer.py", "script_args": SIZE},
    "lightning-fabric": {"script": "lightning_fabric.py", "script_args": [*SIZE, "--checkpoints", "{output_dir}"]},
    "transformers-trainer": {"script": "hf_trainer.py", "script_args": HUGGING_FACE},
    "trl-sft": {"script": "trl_sft.py", "script_args": HUGGING_FACE},
    "deepspeed-zero-1": {
        "script": "deepspeed_zero.py",
        "config": "ds_config.json",
        "config_option": "--deepspeed_config",
        "script_args": ["--checkpoints", "{output_dir}"],
        "env": {"DS_ACCELERATOR": "cpu"},
        # DeepSpeed prints steps and a speed, the program a loss.
        "metrics_pattern": r"mse (?P<loss>\S+)",
    },
}
NUMBER = r"([-+.\de]+)"
TQDM = r"4/4 \[[^]]*?([.\d]+)(it/s|s/it)"
# What run.yml says at the end, and by which patterns the log has the losses and the speed as the library prints them.
PROGRESS: dict[str, tuple[dict[str, int], str, tuple[str, str] | None]] = {
    "lightning-trainer": ({"step": 4}, f"rank 0 of 4, step 4, last loss {NUMBER}", None),
    "transformers-trainer": ({"step": 4, "total_steps": 4}, f"'loss': '?{NUMBER}", ("steps_per_s", TQDM)),
    "trl-sft": ({"step": 4, "total_steps": 4}, f"'loss': '?{NUMBER}", ("steps_per_s", TQDM)),
    "deepspeed-zero-1": (
        {"step": 5},
        rf"rank0 \| batch \d+ mse {NUMBER}",
        ("samples_per_s", f"RunningAvgSamplesPerSec={NUMBER}"),
    ),
}
LINE = "rank {rank} of 4, step "


def check_progress(record: dict[str, Any], text: str, program: str) -> None:
    """Compare run.yml with the lines of rank 0 and of the launcher."""
    counted, loss, speed = PROGRESS[program]
    losses = [float(match) for match in re.findall(loss, text)]
    assert record["loss"]["last"] == pytest.approx(losses[-1], rel=1e-4)
    progress = record["progress"]
    assert {name: progress.get(name) for name in counted} == counted
    if speed is not None:
        name, pattern = speed
        last = re.findall(pattern, text)[-1]
        printed = float(last) if isinstance(last, str) else 1 / float(last[0]) if last[1] == "s/it" else float(last[0])
        assert progress[name] == pytest.approx(printed, rel=1e-2)


def launch_twice(cluster: Cluster, **parameters: Any) -> list[str]:
    """Launch two runs, one after the other; return the text of all logs of each."""
    return [launch(cluster, f"{RUN_ID}_{number}", **parameters) for number in (1, 2)]


def launch(cluster: Cluster, run_id: str = RUN_ID, **parameters: Any) -> str:
    """Launch a run; return the text of all its logs."""
    played = cluster.launch(**{"follow": True, **parameters}, run_id=run_id)
    assert played.rc == 0, played.out
    assert f"{run_id}  succeeded" in played.out
    assert "succeeded, but" not in played.out
    home = cluster.experiments / run_id
    return "\n".join(path.read_text() for path in sorted(home.glob("*/*.log")) + sorted(home.glob("logs/*.txt")))


@pytest.mark.parametrize("program", TORCHRUN)
def test_a_program_trains_under_torchrun(program: str, checkout: Cluster) -> None:
    for number, text in enumerate(launch_twice(checkout, **TORCHRUN[program]), start=1):
        for rank in range(4):
            assert LINE.format(rank=rank) in text
        if program == "deepspeed-zero-1":
            assert "ZeRO stage 1" in text
        record = checkout.record(f"{RUN_ID}_{number}")
        if program in PROGRESS:
            check_progress(record, text, program)
        else:
            assert record["progress"] is None and record["loss"] is None


@pytest.mark.parametrize(
    ("name", "nproc", "line"),
    [
        # Its expectations of split tensors are for two ranks.
        ("test_script", 1, "Training yielded the same results on one CPU or distributed setup"),
        ("test_ops", 2, "testing gather_object"),
        ("test_sync", 2, "**Test Distributed `no_sync` context manager**"),
    ],
)
def test_accelerates_own_tests_pass_under_torchrun(name: str, nproc: int, line: str, checkout: Cluster) -> None:
    program = {"module": f"accelerate.test_utils.scripts.{name}", "env": {"ACCELERATE_USE_CPU": "1"}, "nproc": nproc}
    for text in launch_twice(checkout, **program):
        assert line in text


@pytest.mark.parametrize("script", ["lightning_trainer.py", "lightning_fabric.py"])
def test_lightning_starts_its_ranks_itself(script: str, checkout: Cluster) -> None:
    arguments = [*SIZE, *(["--checkpoints", "{output_dir}"] if "fabric" in script else [])]
    for text in launch_twice(checkout, launcher="exec", script=script, script_args=arguments):
        for rank in range(4):
            assert LINE.format(rank=rank) in text


def test_accelerate_launch_starts_its_ranks_itself(checkout: Cluster) -> None:
    port = int(checkout.policy["launch_port_range"].split("-")[0]) + 900
    arguments = [
        # Without GPUs, accelerate starts several ranks by torchrun with this option only; --cpu takes MPI.
        *(
            "launch",
            "--multi_gpu",
            "--num_machines",
            "{nnodes}",
            "--num_processes",
            "4",
            "--machine_rank",
            "{node_rank}",
        ),
        *("--main_process_ip", "{master_addr}", "--main_process_port", str(port), "hf_trainer.py", *HUGGING_FACE),
    ]
    program = {"launcher": "exec", "script": "accelerate", "master_port": port}
    for text in launch_twice(checkout, **program, script_args=arguments):
        for rank in range(4):
            assert LINE.format(rank=rank) in text


# What a rank prints first of how it was started, by launcher; the ranks of node1 have the local ranks 0 and 1.
STARTED = {
    # Accelerate uses FSDP on GPUs only.
    "accelerate": [r"DistributedType.MULTI_CPU, bf16, FSDP true 2"] * 4,
    "deepspeed": [rf"local rank {rank % 2}, node {rank // 2} of 2, 2 ranks" for rank in range(4)],
}
LAUNCHERS: dict[str, dict[str, Any]] = {
    "accelerate": {
        "script": "accelerate_train.py",
        "launcher_args": ["--use_fsdp", "--fsdp_version=2", "--mixed_precision=bf16"],
    },
    "deepspeed": {
        "script": "deepspeed_train.py",
        "config": "ds_config.json",
        "config_option": "--deepspeed_config",
        "env": {"DS_ACCELERATOR": "cpu"},
    },
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_launcher_starts_restarts_and_resumes_its_ranks(launcher: str, checkout: Cluster) -> None:
    outputs = checkout.home / "outputs"
    outputs.mkdir()
    checkout.policy["launch_shared_output_dir"] = str(outputs)
    checkout.write()

    def parameters(*arguments: str) -> dict[str, Any]:
        return {
            "launcher": launcher,
            **LAUNCHERS[launcher],
            "script_args": ["--checkpoints", "{output_dir}", *arguments],
        }

    def check_ranks(text: str, *steps: int) -> None:
        for rank, started in enumerate(STARTED[launcher]):
            first = re.findall(rf"rank{rank} \| {started}, first step (\d)$", text, re.MULTILINE)
            assert [int(step) for step in first] == [*steps]
            assert LINE.format(rank=rank) + "6" in text

    check_ranks(launch(checkout, max_restarts=1, **parameters("--fail", "3")), 0, 3)
    [attempt] = checkout.record()["ended_attempts"]
    assert (attempt["node"], attempt["rank"], attempt["verdict"]) == ("node1", 3, "failed")
    assert "exited with code 1: ValueError: step 3" in attempt["why"]

    stopped = f"{RUN_ID}_stopped"
    assert checkout.launch(run_id=stopped, follow=False, **parameters("--wait", "2")).rc == 0
    wait_for(lambda: len(list((outputs / stopped).glob("waits_*"))) == 4, "ranks that wait", 300)
    assert checkout.verb("stop", run_id=stopped).rc == 0
    check_ranks(launch(checkout, run_id=stopped), 0, 2)


def change(checkout: Cluster, script: str, *replacements: tuple[str, str]) -> None:
    """Replace text of a script, which has to have it, in the checkout."""
    path = checkout.home / "code" / script
    text = path.read_text()
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)


TRANSFORMERS = ("hf_trainer.py", "transformers_callback", " = Trainer(", "")
LIGHTNING = ("lightning_trainer.py", "lightning_callback", " = lightning.Trainer(", "accumulate_grad_batches=2, ")


@pytest.mark.parametrize(
    ("program", "arguments", "loss", "steps"),
    [
        (TRANSFORMERS, [*HUGGING_FACE, "--disable_tqdm", "true"], f"'loss': '?{NUMBER}", 4),
        (LIGHTNING, SIZE, f"rank 0 of .* last loss {NUMBER}", 2),
    ],
    ids=["transformers", "lightning"],
)
def test_the_callbacks_of_the_examples_report_progress(
    program: tuple[str, str, str, str], arguments: list[str], loss: str, steps: int, checkout: Cluster
) -> None:
    script, callback, trainer, options = program
    shutil.copy(ROOT / "examples" / "callbacks" / f"{callback}.py", checkout.home / "code")
    importing = f"import annotations\n\nfrom {callback} import MusterMetrics"
    called = f"{trainer}{options}callbacks=[MusterMetrics()], "
    change(checkout, script, ("import annotations", importing), (trainer, called))
    losses = [float(match) for match in re.findall(loss, launch(checkout, script=script, script_args=arguments))]
    record = checkout.record()
    assert record["progress"] == {"step": steps, "total_steps": steps}
    assert record["loss"]["last"] == pytest.approx(losses[-1], rel=1e-3)
    for rank in range(4):
        lines = (checkout.experiments / RUN_ID / "outputs" / f"rank_{rank:02d}_metrics.jsonl").read_text().splitlines()
        assert [json.loads(line)["step"] for line in lines] == list(range(1, steps + 1))


def test_the_documented_pattern_reads_what_a_lightning_module_prints(checkout: Cluster) -> None:
    page = (ROOT / "docs" / "first-workload.md").read_text()
    (parameter,) = re.findall(r"-e '({\"metrics_pattern\": .*})'", page)
    (statement,) = re.findall(r"^ *(self\.print\(.*\))$", page, re.MULTILINE)
    change(
        checkout,
        "lightning_trainer.py",
        ("        return loss\n", f"        {statement}\n        return loss\n"),
        ("max_epochs=1,", "max_epochs=1, logger=False,"),
    )
    text = launch(checkout, script="lightning_trainer.py", script_args=SIZE, **json.loads(parameter))
    losses = [float(match) for match in re.findall(rf"rank0 \| update \d/4 nll {NUMBER}", text)]
    record = checkout.record()
    assert len(losses) == 4
    assert record["loss"] == {"first": pytest.approx(losses[0], rel=1e-5), "last": pytest.approx(losses[-1], rel=1e-5)}
    assert {name: record["progress"].get(name) for name in ("step", "total_steps")} == {"step": 4, "total_steps": 4}
    assert record["progress"]["steps_per_s"] > 0


def test_trackers_get_the_run_id_and_their_files_are_collected(checkout: Cluster) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "trackers.md").read_text(), re.M | re.S)
    (checkout.home / "code" / "train.py").write_text(program)
    checkout.policy["launch_cwd"] = "run"
    checkout.write()
    text = launch(checkout, script="train.py", env={"WANDB_MODE": "offline"})
    assert f"W&B: {RUN_ID}, group {RUN_ID}; MLflow: {RUN_ID}" in text
    outputs = checkout.experiments / RUN_ID / "outputs"
    for pattern in (
        "wandb/offline-run-*/run-*.wandb",
        "mlruns/*/*/artifacts/layer.txt",
        "runs/*/events.out.tfevents.*",
    ):
        assert len(list(outputs.glob(pattern))) == 1
    with contextlib.closing(sqlite3.connect(outputs / "mlflow.db")) as database:
        assert database.execute("SELECT name FROM runs").fetchall() == [(RUN_ID,)]
        tags = dict(database.execute("SELECT key, value FROM tags").fetchall())
        ((loss,),) = database.execute("SELECT value FROM metrics WHERE step = 20").fetchall()
    assert tags["muster.run_id"] == RUN_ID
    record = checkout.record()
    assert record["progress"]["step"] == 20
    assert record["loss"]["last"] == pytest.approx(loss, rel=1e-4)


def test_ranks_that_all_begin_a_run_of_wandb_are_one_group(checkout: Cluster) -> None:
    program = """
import torch.distributed as dist
import wandb

dist.init_process_group("gloo")
run = wandb.init(project="group")
print("W&B:", run.id, run.group, run.name, flush=True)
run.finish()
dist.destroy_process_group()
"""
    (checkout.home / "code" / "train.py").write_text(program)
    text = launch(checkout, script="train.py", env={"WANDB_MODE": "offline", "WANDB_NAME": "mine"})
    ids = re.findall(rf"W&B: (\w+) {RUN_ID} mine$", text, re.MULTILINE)
    assert len(set(ids)) == 4
    outputs = checkout.experiments / RUN_ID / "outputs"
    assert {path.stem for path in outputs.rglob("run-*.wandb")} == {f"run-{name}" for name in ids}
    assert not (checkout.home / "code" / "wandb").exists()
