# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the callback `brief`, by playbooks that Ansible runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
HOSTS = [f"n{number:02d}" for number in range(1, 13)]

WARNS = """
from ansible.module_utils.basic import AnsibleModule
module = AnsibleModule({})
module.warn("take care")
module.deprecate("old option", version="9.9.9", collection_name="muster.train")
module.exit_json()
"""

pytestmark = pytest.mark.slow


def play(tmp_path: Path, tasks: list[dict[str, object]], *options: str, **environment: str) -> tuple[int, str, str]:
    """Run tasks on many local hosts and return the exit code, the standard output and the standard error."""
    hosts: dict[str, dict[str, object]] = {host: {} for host in HOSTS} | {
        "away": {"ansible_connection": "ssh", "ansible_host": "127.0.0.1"}
    }
    inventory = {
        "all": {
            "hosts": hosts,
            "vars": {"ansible_connection": "local", "ansible_port": 1, "ansible_python_interpreter": sys.executable},
        }
    }
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(inventory))
    play = {"hosts": "all:!away", "gather_facts": False, "tasks": tasks}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([{**play, **({"hosts": "all"} if "--away" in options else {})}]))
    done = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "ansible",
                "playbook",
                "-i",
                str(tmp_path / "hosts.yml"),
                str(tmp_path / "play.yml"),
            ),
            *(option for option in options if option != "--away"),
        ],
        env={
            **os.environ,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_STDOUT_CALLBACK": "muster.train.brief",
            "ANSIBLE_LOCAL_TEMP": str(tmp_path / "tmp"),
            "COLUMNS": "200",
            **environment,
        },
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_only_what_changed_or_was_said_is_printed(tmp_path: Path) -> None:
    tasks: list[dict[str, object]] = [
        {"name": "Do nothing", "ansible.builtin.command": "true", "changed_when": False},
        {"name": "Change something", "ansible.builtin.command": "true"},
        {"name": "Skip it", "ansible.builtin.command": "true", "when": False},
        {"name": "Say it", "ansible.builtin.debug": {"msg": "two\nlines"}},
        {
            "name": "Fail here",
            "ansible.builtin.fail": {"msg": "not here"},
            "ignore_errors": True,
            "when": "inventory_hostname == 'n01'",
        },
    ]
    rc, out, err = play(tmp_path, tasks)
    assert (rc, err) == (0, "")
    assert out.splitlines() == [
        "changed n[01-12]: Change something",
        "n[01-12]: two",
        "          lines",
        "failed (ignored): n01: Fail here: not here",
        "",
        "n[01-12]: 1 changed",
    ]


def test_a_failure_of_many_hosts_is_printed_once(tmp_path: Path) -> None:
    rc, out, _err = play(tmp_path, [{"name": "Refuse", "ansible.builtin.fail": {"msg": "no space"}}])
    assert rc == 2
    assert out.count("no space") == 1
    assert out.splitlines()[1:] == [f"failed: n[{hosts}]: the same as {first}" for hosts, first in [rest_of(out)]] + [
        "",
        "n[01-12]: 1 failed",
    ]


def rest_of(out: str) -> tuple[str, str]:
    """The range of the hosts that failed as the first one did, which differs from time to time, and the first one."""
    first = out.split(": ")[1]
    return out.splitlines()[1].partition("[")[2].partition("]")[0], first


def test_a_failed_command_shows_its_output_and_an_unreachable_host_its_reason(tmp_path: Path) -> None:
    tasks: list[dict[str, object]] = [
        {
            "name": "Run it",
            "ansible.builtin.shell": r"printf 'oops\033[2J\n' >&2; exit 3",
            "when": "inventory_hostname in ['n01', 'away']",
        }
    ]
    rc, out, _err = play(tmp_path, tasks, "--away")
    assert rc != 0
    title = "failed: n01: Run it: "
    assert rf"{title}printf 'oops\033[2J\n' >&2; exit 3 exited with code 3" + f"\n{' ' * len(title)}oops\n" in out
    assert "unreachable: away: Run it: answer: ssh: connect to host 127.0.0.1 port 1: Connection refused; " in out
    assert "start sshd there, or set its port" in out
    assert "away: 1 unreachable" in out


def test_a_diff_and_the_items_of_a_loop_are_printed_once(tmp_path: Path) -> None:
    copy = {"dest": str(tmp_path / "{{ inventory_hostname }}-{{ item }}"), "content": "text\n"}
    tasks: list[dict[str, object]] = [
        {"name": "Write", "ansible.builtin.copy": copy, "loop": ["a", "b"], "run_once": True}
    ]
    _rc, out, _err = play(tmp_path, tasks, "--check", "--diff")
    assert out.count("+text") == 2
    assert "would change n01: Write (a, b)" in out


def test_a_warning_is_printed_once(tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "warns.py").write_text(WARNS)
    rc, out, err = play(tmp_path, [{"name": "Warn", "warns": {}}])
    assert (rc, out) == (0, "")
    assert err.count("take care") == 1
    assert err.count("old option") == 1


def test_verbose_output_is_that_of_ansible(tmp_path: Path) -> None:
    tasks: list[dict[str, object]] = [{"name": "Refuse", "ansible.builtin.fail": {"msg": "no"}, "run_once": True}]
    brief = play(tmp_path, tasks, "-v")
    assert brief == play(tmp_path, tasks, "-v", ANSIBLE_STDOUT_CALLBACK="ansible.builtin.default")
    assert "PLAY RECAP" in brief[1]


def test_beside_a_document_failures_are_on_the_standard_error(tmp_path: Path) -> None:
    tasks: list[dict[str, object]] = [
        {"name": "Change something", "ansible.builtin.command": "true"},
        {"name": "Refuse", "ansible.builtin.fail": {"msg": "no space"}},
    ]
    _rc, out, err = play(tmp_path, tasks, "-e", "output=json")
    assert out == ""
    assert err.count("no space") == 1


def test_there_are_colors_only_where_they_are_forced(tmp_path: Path) -> None:
    tasks: list[dict[str, object]] = [{"name": "Change something", "ansible.builtin.command": "true"}]
    assert "\x1b[" not in play(tmp_path, tasks)[1]
    assert "\x1b[" in play(tmp_path, tasks, ANSIBLE_FORCE_COLOR="1")[1]
