# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes' side on Debian 11 (Python 3.9), 12 and 13 (Python 3.13): its unit tests, and runs across the three.

Their systemd is 247, 252 and 257.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support.play import ROOT
from ansible_collections.muster.train.tests.support.real_hosts import as_root, in_root
from ansible_collections.muster.train.tests.support.way import HOSTS, Way, changes

pytestmark = pytest.mark.hosts

PYTHONS = {"n2": "3.9", "n3": "3.13"}
SCRIPT = "import os, sys\nprint('runs on', sys.version.split()[0])\n"
# The last pytest that runs on Python 3.9, with what only older Pythons need.
PYTEST = ["pytest==8.4.2", "iniconfig==2.1.0", "hypothesis", "PyYAML", "exceptiongroup", "tomli", "typing_extensions"]
HOME = "/tmp/muster"
PLACE = f"{HOME}/ansible_collections/muster/train"
# The first needs Ansible; the others start runners or change the host.
LEFT_OUT = (
    "_host/test_require_python.py",
    "_runs/*",
    "runner/test_*",
    "runner/attempt/test_[bcm]*",
    "runner/gang/runners",
    "runner/gang/test_[mrs]*",
)
CODE = "/root/units/code"
# Rank 1 needs more than its unit may have; what is over the limit must not be swapped out.
HUNGRY = """
import os, subprocess, time
show = ["systemctl", "show", "--property=OOMPolicy", "--value", "muster-*.service"]
print("OOM policy:", subprocess.check_output(show, text=True).strip(), flush=True)
food = bytearray(1 << 30) if os.environ["RANK"] == "1" else time.sleep(600)
"""
DROP_IN = "/run/systemd/system/muster-.service.d"
MEMORY = "[Service]\nMemoryMax=256M\nMemorySwapMax=0\n"
# Other limits than a unit has by default.
LIMITS = {"NOFILE": [8192, 8192], "NPROC": [12345, 12345], "STACK": [8 << 20, 8 << 20], "CORE": [0, 0]}
LOGIN_LIMITS = "{0} soft nofile 4096\n{0} hard nofile 8192\n{0} - nproc 12345\n{0} - stack 8192\n{0} - core 0\n"
LIMITS_FILE = "/etc/security/limits.d/units.conf"
LIMITED = f"""
import json, resource
limits = {{name: resource.getrlimit(getattr(resource, "RLIMIT_" + name)) for name in {list(LIMITS)}}}
print("limits:", json.dumps(limits))
"""


def send(inventory: Path, host: str, directory: Path, names: list[str], target: str) -> None:
    """Put files into a directory of a host."""
    listing = "\0".join(names).encode()
    command = ["tar", "--create", f"--directory={directory}", "--null", "--files-from=-"]
    archive = subprocess.run(command, input=listing, capture_output=True, check=True).stdout
    unpack = in_root(inventory, host, "sh", "-c", f"mkdir -p {target} && tar --extract --directory={target}")
    subprocess.run(unpack, input=archive, check=True)


@pytest.mark.parametrize("host", PYTHONS)
def test_unit_tests_of_the_nodes_side(host: str, mixed_inventory: Path) -> None:
    packages = ROOT / ".cache" / "pytest" / PYTHONS[host]
    if not packages.exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", f"{packages}.new", *PYTEST]
        subprocess.run([*command, "--python-version", PYTHONS[host], "--only-binary", ":all:"], check=True)
        Path(f"{packages}.new").rename(packages)
    listing = ["git", "ls-files", "-z", "galaxy.yml", "plugins", "roles/code/vars", "tests", "tools"]
    files = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    send(mixed_inventory, host, ROOT, [name for name in files if name and (ROOT / name).exists()], PLACE)
    send(mixed_inventory, host, packages, ["."], f"{HOME}/packages")
    script = f"""
        cd {PLACE} && printf '[pytest]\\nmarkers = slow: slow\\n' >pytest.ini
        PYTHONPATH={HOME}/packages python3 -m pytest -q --import-mode=importlib -p no:cacheprovider -m 'not slow' \\
          {" ".join(f"--ignore-glob='tests/unit/module_utils/{name}'" for name in LEFT_OUT)} tests/unit/module_utils
    """
    done = subprocess.run(
        in_root(mixed_inventory, host, "sh", "-c", script),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


def test_a_plain_program_runs_on_every_host(mixed_inventory: Path, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "plain.py").write_text(SCRIPT)
    way = Way(mixed_inventory, "host", tmp_path)
    way.policy |= {
        "launch_workdir": "~/releases",
        "launch_code_dir": "~/releases/code",
        "code_rsync_path": str(code),
        "launch_defaults": {"script": "plain.py", "launcher": "python", "nproc": 1},
        # What the machine below has been through does not matter here.
        "preflight_levels": {"kernel_log": "off"},
    }
    predicted = changes(way.play("setup", "--check"))
    assert changes(way.play("setup")) == predicted
    assert changes(way.play("setup")) == [0, 0, 0]
    report = way.play("preflight")
    assert "3 answered" in report
    for host, python in PYTHONS.items():
        assert f"on {host}: {python}" in report
    assert "succeeded" in way.play("launch")
    logs = sorted((way.record()[0] / "logs").glob("node_*.txt"))
    for log, python in zip(logs, ("3.11.", "3.9.", "3.13."), strict=True):
        assert f"runs on {python}" in log.read_text()


def launch_as_root(inventory: Path, home: Path, script: str, **asked: Any) -> tuple[int, str, Way]:
    """Launch a script on the three hosts; return the exit code, what was printed, and who launched."""
    for host in HOSTS:
        as_root(inventory, host, f"mkdir -p {CODE}\ncat >{CODE}/script.py <<'EOF'\n{script}EOF\n")
    way = Way(inventory, "host", home)
    way.policy |= {"ansible_become": True, "launch_workdir": "~/units", "launch_code_dir": CODE}
    way.policy["preflight_levels"] = {"kernel_log": "off"}
    played = way.try_to("launch", script="script.py", launcher="python", nproc=1, **asked)
    return played.rc, played.words, way


@pytest.fixture
def units_with_little_memory(mixed_inventory: Path) -> Iterator[Path]:
    """Limit the memory of every unit of a run, as a site may do."""
    try:
        for host in HOSTS:
            as_root(
                mixed_inventory,
                host,
                f"mkdir -p {DROP_IN}; printf '{MEMORY}' >{DROP_IN}/memory.conf; systemctl daemon-reload",
            )
        yield mixed_inventory
    finally:
        for host in HOSTS:
            as_root(mixed_inventory, host, f"rm -rf {DROP_IN}; systemctl daemon-reload")


def test_a_unit_outlives_a_rank_that_the_kernel_kills(units_with_little_memory: Path, tmp_path: Path) -> None:
    code, printed, way = launch_as_root(
        units_with_little_memory, tmp_path, HUNGRY, launch_starter="systemd", max_restarts=1
    )
    assert code != 0
    assert "n2: rank 1 killed by SIGKILL: out of memory, the kernel killed 1 process" in printed, printed
    experiment, record = way.record()
    assert (record["verdict"], record["cause"]["node"]) == ("failed", "n2"), printed
    assert (record["cause"]["rank"], record["cause"]["oom_killed"]) == (1, True)
    assert record["why"].endswith("restarted 1 time, the maximum"), record["why"]
    # Systemd obeys the policy under control groups of version 2 only, but it shows it under both; once an attempt.
    logs = (experiment / "logs").glob("node_*.txt")
    assert [log.read_text().count("OOM policy: continue") for log in logs] == [2, 2, 2]


@pytest.fixture
def limited_logins(mixed_inventory: Path) -> Iterator[Path]:
    """Give the user, and root behind sudo, limits of their own."""
    text = "".join(LOGIN_LIMITS.format(user) for user in ("ann", "root"))
    try:
        for host in HOSTS:
            as_root(mixed_inventory, host, f"printf '{text}' >{LIMITS_FILE}")
        yield mixed_inventory
    finally:
        for host in HOSTS:
            as_root(mixed_inventory, host, f"rm -f {LIMITS_FILE}")


@pytest.mark.parametrize("starter", ["setsid", "systemd"])
def test_ranks_have_the_logins_limits_on_every_host(starter: str, limited_logins: Path, tmp_path: Path) -> None:
    # A connection that is still open from before has the limits of that time.
    fresh = {"ansible_ssh_args": "-o ControlMaster=no -o ControlPath=none"}
    code, printed, way = launch_as_root(limited_logins, tmp_path, LIMITED, launch_starter=starter, **fresh)
    assert code == 0, printed
    logs = sorted((way.record()[0] / "logs").glob("node_*.txt"))
    limits = [
        json.loads(line.partition("limits: ")[2])
        for log in logs
        for line in log.read_text().splitlines()
        if "limits: " in line
    ]
    assert limits == [LIMITS, LIMITS, LIMITS]
