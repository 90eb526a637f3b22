# SPDX-License-Identifier: GPL-3.0-or-later
"""What rdma_facts costs on a large node, compared with ansible.builtin.ping in the same run.

usage: python tests/benchmark/facts_cost.py [--rounds 11]

The node is a tree of files: 8 GPUs, 18 HCAs, 256 GIDs per port. Prints medians and the ratio: the reader alone (its CPU
time, and by the clock, which is longer where others compute too), then module and ping each as a Python process of
their own (what Ansible executes on a node), then both as `ansible localhost -m …`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._rdma.devices import read_rdma
from ansible_collections.muster.train.plugins.module_utils._rdma.port import COUNTERS, HW_COUNTERS

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
GPUS, HCAS, GIDS, SET = 8, 18, 256, 4
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(ROOT / "collections"),
    "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


def link(path: Path, target: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(os.path.relpath(target, path.parent))


def make_gids(port: Path, number: int) -> None:
    """Write the table of a RoCE port: link-local and IPv4, each as v1 and v2, the rest unset."""
    link_local = f"fe80:0000:0000:0000:a288:c2ff:fe00:{number:04x}"
    ipv4 = f"0000:0000:0000:0000:0000:ffff:0a00:{number:04x}"
    unset = ":".join(["0000"] * 8)
    table = [link_local, link_local, ipv4, ipv4] + [unset] * (GIDS - SET)
    for index, gid in enumerate(table):
        write(port / "gids" / str(index), gid)
        for name, value in (("types", ("IB/RoCE v1", "RoCE v2")[index % 2]), ("ndevs", f"rail{number}")):
            # Where the kernel answers EINVAL a file that says nothing.
            write(port / "gid_attrs" / name / str(index), value if index < SET else "")


def make_node(root: Path) -> None:
    """Write the tree of the node below root."""
    devices = root / "sys/devices"
    for number in range(GPUS):
        place = devices / f"pci0000:{number:02x}/0000:{number:02x}:01.0/0000:{number + 1:02x}:00.0"
        write(place / "vendor", "0x10de")
        write(place / "class", "0x030200")
        link(root / "sys/bus/pci/devices" / place.name, place)
    for number in range(HCAS):
        place = devices / f"pci0000:{number:02x}/0000:{number:02x}:01.0/0000:{number + 0x80:02x}:00.0"
        hca = place / "infiniband" / f"mlx5_{number}"
        port = hca / "ports/1"
        for name, value in {
            "node_type": "1: CA",
            "hca_type": "MT4129",
            "board_id": "MT_0000000838",
            "fw_ver": "28.39.1002",
            "node_guid": f"a088:c203:00e3:{number:04x}",
            "ports/1/state": "4: ACTIVE",
            "ports/1/phys_state": "5: LinkUp",
            "ports/1/link_layer": "Ethernet",
            "ports/1/rate": "400 Gb/sec (4X NDR)",
            "ports/1/lid": "0x0",
            "ports/1/sm_lid": "0x0",
            **{f"ports/1/counters/{name}": "0" for name in COUNTERS},
            **{f"ports/1/hw_counters/{name}": "0" for name in HW_COUNTERS},
        }.items():
            write(hca / name, value)
        make_gids(port, number)
        for name, value in {"vendor": "0x15b3", "numa_node": str(number // 9), f"net/rail{number}/mtu": "9000"}.items():
            write(place / name, value)
        write(place / f"infiniband_verbs/uverbs{number}/ibdev", hca.name)
        write(root / f"dev/infiniband/uverbs{number}", "")
        link(place / "driver", root / "sys/bus/pci/drivers/mlx5_core")
        link(hca / "device", place)
        link(root / "sys/bus/pci/devices" / place.name, place)
        link(root / "sys/class/infiniband" / hca.name, hca)
        link(root / "sys/class/infiniband_verbs" / f"uverbs{number}", place / f"infiniband_verbs/uverbs{number}")
        link(root / f"sys/class/net/rail{number}", place / f"net/rail{number}")


def median_ms(rounds: int, *works: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """Return the medians in ms; the rounds are interleaved, so that a disturbance hits all alike."""
    times: list[list[float]] = [[] for _work in works]
    for _round in range(rounds):
        for work, taken in zip(works, times, strict=True):
            begun = clock()
            work()
            taken.append((clock() - begun) * 1000)
    return [statistics.median(taken) for taken in times]


def run(argv: list[str | Path], *, text: str | None = None) -> None:
    done = subprocess.run(
        argv,
        cwd=ROOT,
        env=ENVIRONMENT,
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{argv} failed with {done.returncode}:\n{done.stdout}")


def execute(module: str, arguments: dict[str, str]) -> None:
    """Run a module as its own process."""
    run([sys.executable, "-m", module], text=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="muster-facts-") as folder:
        make_node(Path(folder))
        facts = read_rdma(Host(folder), sys.exit)
        gids = sum(len(port.gids) for hca in facts.hcas for port in hca.ports)
        if not all(port.usable for hca in facts.hcas for port in hca.ports) or gids != HCAS * SET:
            raise SystemExit(f"the facts do not match the tree: {facts}")
        print(f"{GPUS} GPUs, {HCAS} HCAs, {GIDS} GIDs per port; medians of {rounds}")

        def read() -> object:
            return read_rdma(Host(folder), sys.exit)

        (cpu_ms,), (wall,) = median_ms(rounds, read, clock=time.process_time), median_ms(rounds, read)
        print(f"rdma_facts' own time       {cpu_ms:7.0f} ms of CPU, {wall:.0f} ms by the clock")
        module = "ansible_collections.muster.train.plugins.modules.rdma_facts"
        ours, ping = median_ms(
            rounds, lambda: execute(module, {"root": folder}), lambda: execute("ansible.modules.ping", {})
        )
        print(f"module / ping, executed    {ours:7.0f} ms / {ping:.0f} ms = {ours / ping:.2f}")
        ad_hoc: list[str | Path] = [BIN / "ansible", "localhost", "-c", "local", "-m"]
        ours, ping = median_ms(
            max(3, rounds // 3),
            lambda: run([*ad_hoc, "muster.train.rdma_facts", "-a", f"root={folder}"]),
            lambda: run([*ad_hoc, "ansible.builtin.ping"]),
        )
        print(f"module / ping, by Ansible  {ours:7.0f} ms / {ping:.0f} ms = {ours / ping:.2f}")


if __name__ == "__main__":
    main()
