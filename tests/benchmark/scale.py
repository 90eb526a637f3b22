# SPDX-License-Identifier: GPL-3.0-or-later
"""What the verbs cost on many hosts, beside other programs that start something on all of them.

usage: python tests/benchmark/scale.py [--hosts 32 128] [--rounds 3] [--only PATTERN] [--json FILE]

The hosts are names of one sshd of the benchmark's own, reached over loopback, so the work of all nodes is done by this
machine too. Each round runs every command once, in turn. Prints the median of wall time, CPU of the command's own
process and of all it started, bytes on loopback for each host (both directions), and the peak memory of the command's
session, from a round of its own. A command that is not installed, or that fails, has no row but a line that says why.
For `muster stop` also prints how long it took until the head was asked to stop the run.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

import yaml

from ansible_collections.muster.train.tests.benchmark.whole_process import Cost, measure
from ansible_collections.muster.train.tests.support import sshd

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
# That of `make workloads`. Each host's part imports PyTorch, here all on one machine.
DEEPSPEED = ROOT / ".cache" / "workloads" / "venv" / "bin" / "deepspeed"
PINGS = """\
- name: What Ansible itself takes
  hosts: nodes
  gather_facts: false
  tasks:
    - ansible.builtin.ping:
    - ansible.builtin.ping:
"""
# A program that is started on each node and stays there until it is stopped.
PROGRAM = "import signal\nsignal.pause()\n"
# What others start ends by itself: they have no command that stops it. DeepSpeed's launcher waits for the end.
SHORT_PROGRAM = "import time\ntime.sleep(10)\n"
ENDED_PROGRAM = "pass\n"
STOP, LIMIT_S = "muster stop", 60.0
HEADERS = f"{'command':<24}{'wall s':>9}{'own CPU s':>11}{'children s':>12}{'KiB a host':>12}{'peak MiB':>10}"


@dataclass(frozen=True)
class Contender:
    """A command to measure; `needs` are the programs that it takes, `most` the hosts that this machine can bear."""

    name: str
    command: list[str]
    needs: tuple[str, ...] = ()
    most: int = 10_000


class Bench:
    """Some hosts, their inventory, and an ssh configuration by which other programs reach them too."""

    def __init__(self, home: Path, server: sshd.Sshd, count: int) -> None:
        self.home = home
        self.asked_s: list[float] = []  # until the head was asked to stop
        self.names = [f"h{number:03d}" for number in range(1, count + 1)]
        self.config = home / "ssh_config"
        self.config.write_text(
            f"Host h*\n  HostName {sshd.ADDRESSES[0]}\n  Port {server.port}\n  User {server.policy()['ansible_user']}\n"
            f"  IdentityFile {server.base}/login_key\n  IdentitiesOnly yes\n  StrictHostKeyChecking yes\n"
            f"  UserKnownHostsFile {server.base}/known_hosts\n",
            encoding="utf-8",
        )
        (home / "code").mkdir()
        for name, program in (("wait", PROGRAM), ("sleep", SHORT_PROGRAM), ("end", ENDED_PROGRAM)):
            (home / "code" / f"{name}.py").write_text(program, encoding="utf-8")
        (home / "pings.yml").write_text(PINGS, encoding="utf-8")
        (home / "hosts").write_text("".join(f"{name} slots=1\n" for name in self.names), encoding="utf-8")
        policy = {
            "ansible_ssh_common_args": f"-F {self.config}",
            "ansible_control_path_dir": str(server.base / "cp"),
            "ansible_python_interpreter": sys.executable,
            "ansible_remote_tmp": str(home / "remote_tmp"),
            "launch_python": sys.executable,
            "launch_code_dir": str(home / "code"),
            "launch_workdir": str(home / "work") + "/{{ inventory_hostname }}",
            "launch_head_address": "127.0.0.1",
            "launch_experiments_dir": str(home / "experiments"),
            "launch_stop_grace": 5,
            "launch_defaults": {"script": "wait.py", "launcher": "exec", "nproc": 1},
        }
        inventory = {"nodes": {"hosts": {name: {} for name in self.names}, "vars": policy}}
        (home / "inventory.yml").write_text(yaml.safe_dump(inventory), encoding="utf-8")

    def contenders(self) -> list[Contender]:
        """Return the commands, in the order in which a round runs them."""
        listed = ",".join(self.names)
        play = [str(BIN / "ansible-playbook"), "-i", str(self.home / "inventory.yml")]
        options = f"-F {self.config}"
        # One process on each host, as many as there are slots.
        mpi = ["mpirun", "--hostfile", str(self.home / "hosts"), "--mca", "plm_rsh_args", options]
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        pdsh = ["pdsh", "-R", "ssh", "-f", "32", "-w", listed]
        start = f"{sys.executable} {self.home / 'code' / 'sleep.py'}"
        deepspeed = [str(DEEPSPEED), "--hostfile", str(self.home / "hosts"), "--force_multi", "--no_ssh_check"]
        deepspeed += ["--master_addr", "127.0.0.1", str(self.home / "code" / "end.py")]
        verbs = [
            Contender(f"muster {verb}", [*play, str(ROOT / "playbooks" / f"{verb}.yml"), *extra])
            for verb, extra in (("launch", ["-e", "follow=false"]), ("status", []), ("stop", []), ("collect", []))
        ]
        return [
            Contender("clush true", ["clush", "-q", "-o", options, "-f", "32", "-w", listed, "true"], ("clush",)),
            Contender("pdsh true", [*pdsh, "true"], ("pdsh",)),
            Contender("pdsh start", [*pdsh, f"nohup {start} >/dev/null 2>&1 </dev/null &"], ("pdsh",)),
            # Of more daemons on one machine than that, some fail or wait forever (PMIx, Open MPI 4.1).
            Contender("mpirun true", [*mpi, *root, "true"], ("mpirun",), most=16),
            Contender("deepspeed", deepspeed, ("pdsh", deepspeed[0]), most=8),
            Contender("two pings", [*play, str(self.home / "pings.yml")]),
            *verbs,
        ]

    def environment(self) -> dict[str, str]:
        """Return the environment of every command: this checkout's ansible.cfg, and its ssh configuration."""
        return {
            **os.environ,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_LOCAL_TEMP": str(self.home / "local_tmp"),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
            "PDSH_SSH_ARGS_APPEND": f"-F {self.config}",
        }

    def run(self, contender: Contender, with_memory: bool = False) -> Cost:
        """Run one command."""
        if contender.name == STOP:
            threading.Thread(target=self._await_request, daemon=True).start()
        return measure(contender.command, self.environment(), self.home, with_memory)

    def _await_request(self) -> None:
        """Note how long it takes until the head has a stop request, which its runner removes when it has ended."""
        begun = time.monotonic()
        while time.monotonic() - begun < LIMIT_S:
            if any(self.home.glob(f"work/{self.names[0]}/.muster/nodes/*/runs/*/stop.*")):
                self.asked_s.append(time.monotonic() - begun)
                return
            time.sleep(0.02)


def rounds(bench: Bench, contenders: list[Contender], count: int) -> Iterator[dict[str, Cost]]:
    """Yield the costs of each round, by name; the first one samples memory and is not counted."""
    for number in range(count + 1):
        yield {contender.name: bench.run(contender, with_memory=not number) for contender in contenders}


def median(costs: list[Cost], value: Callable[[Cost], float]) -> float:
    return statistics.median(map(value, costs))


def figures(hosts: int, name: str, first: Cost, costs: list[Cost]) -> dict[str, Any]:
    """Return one row."""
    return {
        "hosts": hosts,
        "command": name,
        "wall_s": round(median(costs, lambda cost: cost.wall_s), 2),
        "own_cpu_s": round(median(costs, lambda cost: cost.own_cpu_s), 2),
        "children_cpu_s": round(median(costs, lambda cost: cost.children_cpu_s), 2),
        "kib_per_host": round(median(costs, lambda cost: cost.sent_bytes) / 1024 / hosts),
        "peak_mib": round(first.peak_mib),
    }


def bench_hosts(server: sshd.Sshd, count: int, number_of_rounds: int, only: str) -> list[dict[str, Any]]:
    """Print and return the rows for one number of hosts."""
    home = Path(tempfile.mkdtemp(prefix="muster-scale-"))
    print(f"\n{count} hosts\n{HEADERS}", flush=True)
    try:
        bench = Bench(home, server, count)
        contenders = []
        for contender in bench.contenders():
            absent = [program for program in contender.needs if shutil.which(program) is None]
            if absent:
                print(f"{contender.name}: not measured, {', '.join(absent)} is not installed")
            elif count > contender.most:
                print(f"{contender.name}: not measured, this machine bears at most {contender.most} hosts of it")
            elif fnmatch.fnmatchcase(contender.name, only):
                contenders.append(contender)
        measured = list(rounds(bench, contenders, number_of_rounds))
    finally:
        shutil.rmtree(home, ignore_errors=True)
    rows = []
    for contender in contenders:
        costs = [costs[contender.name] for costs in measured]
        failed = next((cost for cost in costs if cost.code), None)
        if failed:
            last = (failed.output.strip().splitlines() or ["no output"])[-1]
            print(f"{contender.name}: failed with exit code {failed.code}: {last}")
            continue
        row = figures(count, contender.name, costs[0], costs[1:])
        rows.append(row)
        print(
            f"{row['command']:<24}{row['wall_s']:>9.2f}{row['own_cpu_s']:>11.2f}{row['children_cpu_s']:>12.2f}"
            f"{row['kib_per_host']:>12}{row['peak_mib']:>10}",
            flush=True,
        )
        if contender.name == STOP and bench.asked_s[1:]:
            row["asked_s"] = round(statistics.median(bench.asked_s[1:]), 2)
            print(f"{'':24}{row['asked_s']:>9.2f} s until the head was asked to stop", flush=True)
    return rows


def machine() -> dict[str, Any]:
    """Return what the figures were measured on."""
    with open("/proc/cpuinfo", encoding="utf-8") as stream:
        model = next((line.partition(":")[2].strip() for line in stream if line.startswith("model name")), "unknown")
    return {"cpus": len(os.sched_getaffinity(0)), "model": model, "kernel": platform.release()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, nargs="+", default=[32, 128])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="*", help="the commands to measure, for example 'muster *'")
    parser.add_argument("--json", type=Path, help="where the figures are written, too")
    options = parser.parse_args()
    if why := sshd.missing():
        raise SystemExit(why)
    base = Path(tempfile.mkdtemp(prefix="muster-sshd-"))
    try:
        with sshd.running(base) as server:
            rows = [row for count in options.hosts for row in bench_hosts(server, count, options.rounds, options.only)]
    finally:
        shutil.rmtree(base, ignore_errors=True)
    if options.json:
        document = {"machine": machine(), "rounds": options.rounds, "rows": rows}
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
