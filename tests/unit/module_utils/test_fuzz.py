# SPDX-License-Identifier: GPL-3.0-or-later
"""Parsers take what comes: no text of a machine is an exception."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._container.apptainer import parse_identity
from ansible_collections.muster.train.plugins.module_utils._container.engine import parse_daemon
from ansible_collections.muster.train.plugins.module_utils._container.engine_output import (
    parse_gpu_containers,
    parse_image,
    parse_info,
)
from ansible_collections.muster.train.plugins.module_utils._container.kind import parse_cgroup, parse_environ
from ansible_collections.muster.train.plugins.module_utils._gpu.amd.health import (
    parse_bad_pages,
    parse_count,
    parse_features,
)
from ansible_collections.muster.train.plugins.module_utils._gpu.nvidia.health import parse_nvlinks, parse_states
from ansible_collections.muster.train.plugins.module_utils._gpu.virtual_topology import (
    parse_hypervisor,
    parse_topology_setting,
)
from ansible_collections.muster.train.plugins.module_utils._host.pci import parse_generation, parse_width
from ansible_collections.muster.train.plugins.module_utils._nccl_log.parse import NcclLogParser
from ansible_collections.muster.train.plugins.module_utils._net.interfaces import parse_routed
from ansible_collections.muster.train.plugins.module_utils._net.ipv6 import parse_ipv6_addresses, parse_ipv6_routes
from ansible_collections.muster.train.plugins.module_utils._net.names import parse_hosts
from ansible_collections.muster.train.plugins.module_utils._net.network import (
    parse_addresses,
    parse_listeners,
    parse_routes,
)
from ansible_collections.muster.train.plugins.module_utils._net.reach import parse_target
from ansible_collections.muster.train.plugins.module_utils._net.rules import parse_rules
from ansible_collections.muster.train.plugins.module_utils._records.gang import (
    MAX_SIGN_BYTES,
    RUNNING,
    NodesDocument,
    NodeSign,
    older,
)
from ansible_collections.muster.train.plugins.module_utils._records.nccl_log import NcclLog
from ansible_collections.muster.train.plugins.module_utils._records.nccl_verdict import NcclExpectation, judge
from ansible_collections.muster.train.plugins.module_utils._records.raised import read_raised
from ansible_collections.muster.train.plugins.module_utils._records.run import MemlockLimits, Progress, RunWarning
from ansible_collections.muster.train.plugins.module_utils._records.transport import NodeTransport, TransportFinding
from ansible_collections.muster.train.plugins.module_utils._software.code import parse_excludes, parse_status
from ansible_collections.muster.train.plugins.module_utils._software.excludes import excluded_by
from ansible_collections.muster.train.plugins.module_utils._software.site_packages import (
    parse_pth,
    parse_pyvenv,
    read_site_packages,
)
from ansible_collections.muster.train.plugins.module_utils._software.tools import parse_version
from ansible_collections.muster.train.plugins.module_utils._software.versions import (
    parse_rccl_header,
    parse_torch_version,
)
from ansible_collections.muster.train.plugins.module_utils._system import cpus
from ansible_collections.muster.train.plugins.module_utils._system.control_groups import parse_groups
from ansible_collections.muster.train.plugins.module_utils._system.disks import parse_mountinfo
from ansible_collections.muster.train.plugins.module_utils._system.gpu_processes import parse_users
from ansible_collections.muster.train.plugins.module_utils._system.kernel import parse_chosen, parse_command_line
from ansible_collections.muster.train.plugins.module_utils._system.kernel_log import (
    errors_of,
    parse_dmesg,
    parse_journal,
)
from ansible_collections.muster.train.plugins.module_utils._system.limits import (
    parse_cap_ipc_lock,
    parse_limits,
    parse_memlock,
)
from ansible_collections.muster.train.plugins.module_utils._system.memory import parse_meminfo
from ansible_collections.muster.train.plugins.module_utils._system.processes import parse_mark, parse_switches
from ansible_collections.muster.train.plugins.module_utils._system.slurm import parse_slurm_groups
from ansible_collections.muster.train.plugins.module_utils._text.binds import source_of
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.metrics.lightning import parse_csv
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.metrics.lines import PrintedMetrics
from ansible_collections.muster.train.plugins.module_utils.runner.gang.ranks import GangNode
from ansible_collections.muster.train.plugins.module_utils.runner.gang.signs import Signs
from ansible_collections.muster.train.plugins.module_utils.runner.hang.trace import parse_trace
from ansible_collections.muster.train.plugins.module_utils.runner.hang.usage import parse_cpu, parse_io
from ansible_collections.muster.train.plugins.module_utils.runner.stacks.parse import parse_faulthandler, parse_py_spy
from ansible_collections.muster.train.tests.support.captures import texts
from ansible_collections.muster.train.tests.support.machines import MACHINES, Machine
from ansible_collections.muster.train.tools._machine.manifest import read

pytestmark = pytest.mark.slow

SITES = [
    "home = /usr/bin\ninclude-system-site-packages = true\nversion_info = 3.11.2.final.0\n",
    "/v/extra\n../..\n# comment\nimport site; site.addsitedir('/x')\n",
]
HEALTH = [
    "127.0.0.1\tlocalhost\n127.0.1.1\tgpu01 # x\n",
    "MemTotal:       2113460908 kB\nHugePages_Total:     512\n",
    "[    0.000000] NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', GPU has fallen off the bus.\n",
    "[    1.5] amdgpu 0000:c1:00.0: amdgpu: 3 new uncorrectable hardware errors detected in umc block\n",
    '{"MESSAGE":"mlx5_core 0000:81:00.0: 1 Gb/s available PCIe bandwidth, limited by","__MONOTONIC_TIMESTAMP":"9"}\n',
    '{"ServerVersion":"28.3.3","Runtimes":{"runc":{}},"ClientInfo":{"Plugins":[{"Name":"compose","Version":"v2"}]}}',
    '["/one",[{"Driver":"","Capabilities":[["gpu"]]}],[{"PathOnHost":"/dev/kfd"}],"runc"]\n',
    '{"default-ulimits":{"memlock":{"Soft":-1}}}',
    "4242, 00000000:1B:00.0\n4243, 00000000:2C:00.0\n",
    "voluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t2\n",
    "A=1\0MUSTER_RUN_ID=x\0",
    "Iface\tDestination\neno1\t00000000\n",
    "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n",
    "<log><gpu id='0'><ecc_mode><current_ecc>Enabled</current_ecc></ecc_mode><uuid>x</uuid></gpu></log>",
    "ue: 0\nce: 1\n",
    "feature mask: 0x1fff\n0x00000001 : 0x00001000 : R\n",
    "32.0 GT/s PCIe",
    "[fd00::1]:29500",
    "NCCL_TOPO_FILE=/opt/microsoft/ndv4-topo.xml\nflags\t\t: fpu hypervisor\n",
    "fd000000000000000000000000000014 03 40 00 80     eth0\n",
    f"fd{'0' * 30} 40 {'0' * 32} 00 {'0' * 32} 00000100 00000001 00000000 00000001     eth0\n",
    "0:\tfrom all lookup local\n100:\tfrom all to 10.20.0.0/16 lookup 100\n32765:\tnot from all fwmark 0x1 lookup 5\n",
]
METRICS = [
    "{'loss': '3.882', 'grad_norm': '1.107', 'learning_rate': '4.167e-05', 'epoch': '0.0625'}\n",
    " 33%|###       | 2/6 [00:00<00:00,  8.95it/s, loss=0.5]\nEpoch 1:  94%|##| 15/16 [00:00<00:00, 2.9s/it]\n",
    "Epoch 1/2\n48/48 - 0s - 3ms/step - loss: 0.0609\nEpoch 2/2 \u2501\u2501 16/16 0:00:00 \u2022 0:00:00 102.90it/s\n",
    "[Rank 0] step=4, skipped=0, lr=[0.01]\nglobal_step=4, RunningAvgSamplesPerSec=1980.5\n",
    "step:  1  loss:  8.1  grad_norm:  1.2  tps: 1,000\niter 10: loss 2.3, time 30ms, mfu 1%\n",
    " iteration 10/ 100 | elapsed time per iteration (ms): 0.0 | global batch size: 64 | lm loss: 1.0E+01 |\n",
    "epoch,step,train_loss,val_loss\n0,11,0.15,\n0,15,,0.2\n",
]
STACKS = [
    'Current thread 0x0f2b [x] (most recent call first):\n  File "/a.py", line 10 in f\n  File ???, line ??? in ?',
    '[{"pid":1,"thread_name":"MainThread","os_thread_id":1,"frames":[{"name":"f","filename":"/a.py","line":10}]}]',
]
SAMPLES = [
    *STACKS,
    *texts("nccl_log"),
    *METRICS,
    *SITES,
    *HEALTH,
    "__version__ = '2.6.0+cu124'\ncuda: Optional[str] = '12.4'\nhip: Optional[str] = None\n",
    "#define NCCL_MAJOR 2\n#define NCCL_MINOR 20\n#define NCCL_PATCH 5\n",
    "0::/kubepods.slice/docker-3f1c2d4e5a6b.scope\n1:name=systemd:/lxc.payload.a/libpod-1\n",
    "Docker version 24.0.7, build afdd53b\n",
    "BOOT_IMAGE=/vmlinuz iommu=pt pci=realloc\n",
    "always [madvise] never\n",
    '{"commit": null, "excludes": ["/a/**", "[!a-z]?*", 7]}\n',
    "/a/**\n[!a-z]?*\n*.py[co]\n",
    "CapEff:\t000001ffffffffff\n",
    *(
        text
        for path in sorted(MACHINES.glob("*.yml"))
        for text in read(path.read_text(encoding="utf-8")).files.values()
        if "\n" in text.rstrip()
    ),
]


def parse_cap_ipc_lock_alone(text: str) -> object:
    return parse_cap_ipc_lock(text, text)


def parse_version_of_docker(text: str) -> object:
    return parse_version(text, "Docker version")


def parse_errors(text: str) -> object:
    return errors_of([*parse_dmesg(text), *parse_journal(text)])


def parse_patterns(text: str) -> object:
    return excluded_by(text.splitlines())("a/b.py", True)


def parse_metrics_csv(text: str) -> object:
    header, _newline, rows = text.partition("\n")
    return parse_csv(header, rows)


def parse_printed(text: str) -> object:
    metrics = PrintedMetrics(2, r"(?P<loss>[0-9.e]+)|(?P<step>x)")
    for number, line in enumerate(text.splitlines()):
        metrics.feed(line, number / 10)
    return metrics.printed


def parse_nccl_log(text: str) -> object:
    parser, data = NcclLogParser(), text.encode()
    for part in (data[:200], data[200:]):  # a line may come in two parts
        parser.feed(part)
    parser.end_file()
    log = parser.record()
    assert NcclLog.from_dict(json.loads(json.dumps(log.to_dict()))) == log
    return judge(log, NcclExpectation("rdma", True, ["mlx5_0"], [0]))


def mutate(text: str, chance: random.Random) -> str:
    parts = list(text[: chance.randrange(20, 1500)])
    for _change in range(chance.randrange(1, 12)):
        place = chance.randrange(len(parts)) if parts else 0
        parts[place : place + chance.randrange(3)] = chance.choice(
            ["", "\n", " ", "-", ":", "x", "9" * 40, "\0", "\u0663", "|-- ", "/32"]
        )
    return "".join(parts)


PARSERS = [
    *(parse_addresses, parse_routes, parse_listeners, parse_memlock, parse_status, parse_mountinfo),
    *(cpus.parse_cpu_list, cpus.parse_cpu_max, parse_groups, lambda text: read_raised(text.splitlines())),
    *(parse_cgroup, parse_environ, parse_chosen, parse_command_line, parse_cap_ipc_lock_alone, parse_limits),
    *(parse_hosts, parse_meminfo, parse_errors, parse_info, parse_image, parse_gpu_containers, parse_daemon),
    *(parse_trace, parse_cpu, parse_io, parse_slurm_groups, source_of),
    lambda text: parse_identity(text.encode("utf-8", "surrogatepass")),
    *(parse_users, parse_switches, parse_mark, parse_routed, parse_nvlinks, parse_states, parse_count, parse_features),
    *(
        parse_bad_pages,
        parse_generation,
        parse_width,
        parse_target,
        parse_ipv6_addresses,
        parse_ipv6_routes,
        parse_rules,
        parse_hypervisor,
        parse_topology_setting,
    ),
    *(parse_excludes, parse_patterns, parse_pth, parse_pyvenv),
    *(parse_rccl_header, parse_torch_version, parse_version_of_docker),
    *(parse_metrics_csv, parse_printed, parse_faulthandler, parse_py_spy, parse_nccl_log),
]


@pytest.mark.parametrize("parse", PARSERS, ids=lambda parse: parse.__name__)
def test_no_text_is_an_exception(parse: Callable[[str], object]) -> None:
    chance = random.Random(42)
    for _case in range(10000):
        parse(mutate(chance.choice(SAMPLES), chance))


SIGN = NodeSign(
    phase="running",
    why="x",
    attempt=0,
    elapsed_s=3600.5,
    progress=Progress(12345, 100000, 2.5, 41234.5, 10.1),
    step_age_s=0.4,
    line_age_s=0.4,
    pids=[1234560, 1234561],
    starter="systemd",
    memlock=MemlockLimits(-1, -1),
    warnings=[RunWarning("disk_full", "node1", "2026-11-20T14:30:52Z")],
    transport=NodeTransport("fail", True, True, ["IB"], True, 4, 8, TransportFinding("nccl nics")),
)
FOREIGN: list[Any] = [
    *(None, True, 0, -1, 1 << 70, float("nan"), float("inf"), 1e308, "", "x" * 5000, "\ud800", "running"),
    *([], [[]], [None, 1], {}, {"step": []}, json.loads("[" * 500 + "]" * 500)),
]


def graft(value: Any, chance: random.Random) -> Any:
    """Return a document in which about one value in ten is another one."""
    if chance.random() < 0.1:
        return chance.choice(FOREIGN)
    if isinstance(value, dict):
        return {name: graft(part, chance) for name, part in value.items() if chance.random() > 0.05}
    return [graft(part, chance) for part in value] if isinstance(value, list) else value


def test_no_sign_of_life_is_an_exception() -> None:
    chance = random.Random(42)
    gang = [GangNode(f"node{number}", number, RUNNING) for number in range(2)]
    status = {"node": "node1", "number": 1, "node_rank": 1, "state": "running", "heard_s": 0.1, "sign_age_s": 0.1}
    for _case in range(1000):
        signs = Signs(nproc=2)
        signs.note(0, SIGN.to_short_dict(), 0, 0.0)
        signs.note(1, graft(SIGN.to_short_dict(), chance), chance.choice(FOREIGN), 0.0)
        signs.pace(gang, 0, 1.0)
        foreign = graft({"nonce": "a", "nodes": [{**status, "sign": SIGN.to_dict()}]}, chance)
        for document in ({"nodes": signs.statuses(gang, 1.0)}, foreign):
            for node in NodesDocument.from_dict(document).nodes:
                older(node, 2.0)
                assert node.sign is None or len(json.dumps(node.sign.to_short_dict())) < 2 * MAX_SIGN_BYTES


def test_no_virtual_environment_is_an_exception(tmp_path: Path) -> None:
    files = {"/v/pyvenv.cfg": "", "/v/lib/python3.11/site-packages/a.pth": "", "/usr/lib/python3.11/os.py": ""}
    machine = Machine({"files": files, "links": {"/v/bin/python": "/usr/bin/python3.11"}}, tmp_path)
    chance = random.Random(42)
    for _case in range(500):
        for path in list(files)[:2]:
            Path(machine.root + path).write_text(mutate(chance.choice(SITES), chance), encoding="utf-8")
        environ = {"PYTHONPATH": mutate(":/v:x", chance), "PYTHONUSERBASE": mutate("/v", chance)}
        read_site_packages(machine, "/v/bin/python", environ)
