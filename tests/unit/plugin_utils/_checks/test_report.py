# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of preflight's levels, its report and its exit code."""

from __future__ import annotations

import json

import pytest
import yaml

from ansible_collections.muster.train.plugins.plugin_utils._checks.policy import (
    ALLOWED_PROCESSES,
    THRESHOLDS,
    CheckPolicy,
)
from ansible_collections.muster.train.plugins.plugin_utils._checks.properties import PROPERTIES
from ansible_collections.muster.train.plugins.plugin_utils._checks.registry import CHECKS
from ansible_collections.muster.train.plugins.plugin_utils._checks.report import document as report_document
from ansible_collections.muster.train.plugins.plugin_utils._checks.report import render as render_report
from ansible_collections.muster.train.plugins.plugin_utils._checks.report import verdict as report_verdict
from ansible_collections.muster.train.plugins.plugin_utils._checks.variables import read_checks
from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import ClusterPolicy
from ansible_collections.muster.train.tests.support.preflight_parts import NOW, Facts, alarms, report
from ansible_collections.muster.train.tests.support.sources import ROOT


def behind(facts: Facts) -> None:
    facts["node"]["clock"]["wall"] = NOW - 60


def test_the_roles_defaults_are_the_thresholds() -> None:
    defaults = yaml.safe_load((ROOT / "roles/preflight/defaults/main.yml").read_text(encoding="utf-8"))
    assert {f"preflight_{item.name}": item.default for item in THRESHOLDS}.items() <= defaults.items()
    assert all(item.source and item.unit for item in THRESHOLDS)
    assert defaults["preflight_allowed_processes"] == list(ALLOWED_PROCESSES)


def test_every_check_is_described_once() -> None:
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names) >= 60
    assert all(check.description and check.level in ("fail", "warn") for check in CHECKS)
    assert len({item.key for item in PROPERTIES}) == len(PROPERTIES)


def test_every_check_says_something_on_every_node() -> None:
    result = report("dgx_h100_ib")
    for check in CHECKS:
        assert {finding.node for finding in result.findings if finding.check == check.name} == {"node0", "node1"}, (
            check.name
        )


@pytest.mark.parametrize(("level", "status", "code"), [("fail", "fail", 1), ("warn", "warn", 0), ("off", None, 0)])
def test_levels(level: str, status: str | None, code: int) -> None:
    policy, refused = read_checks({"preflight_levels": {"clock": level}})
    assert refused == []
    result = report("laptop", behind, levels=dict(policy.levels))
    assert [status for _check, _node, status in alarms(result)] == ([status] if status else [])
    assert result.code == code
    assert result.off == (["clock"] if level == "off" else [])


def test_names_may_have_underscores_and_yaml_reads_off_as_false() -> None:
    assert read_checks({"preflight_levels": {"gpu_count": False}}) == (CheckPolicy({"gpu count": "off"}), [])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"clocks": "warn"}, "there is no check 'clocks'; did you mean 'clock'?"),
        ({"clock": "error"}, "the level of clock is 'error'"),
        (["clock"], "it is ['clock']"),
    ],
)
def test_an_invalid_level_is_refused_with_the_valid_ones(given: object, message: str) -> None:
    policy, [refused] = read_checks({"preflight_levels": given})
    assert policy.levels == {}
    assert refused.observed.startswith(message)
    assert (
        "clock" in refused.expected or "fail, warn, off" in refused.expected or refused.expected.startswith("a mapping")
    )


def test_what_is_nothing_to_expect_is_refused() -> None:
    _policy, [refused] = read_checks({"preflight_expected": {"gpu": 8}})
    assert refused.observed == "there is no property 'gpu'; did you mean 'gpus'?"


@pytest.mark.parametrize(
    ("expected", "status"), [("64KiB", "pass"), ("65536", "pass"), ("64GiB", "fail"), ("unlimited", "fail")]
)
def test_locked_memory_is_compared_in_bytes(expected: str, status: str) -> None:
    def limited(facts: Facts) -> None:
        facts["node"]["user"] = {"name": "ann", "uid": 1000, "home": "/h"}
        facts["node"]["memlock"] = {"soft": 65536, "hard": 65536, "cap_ipc_lock": False, "effective": 65536}

    policy, refused = read_checks({"preflight_expected": {"memlock": expected}})
    assert refused == []
    result = report("dgx_h100_ib", limited, expected=dict(policy.expected))
    [finding] = [item for item in result.findings if (item.check, item.node) == ("memlock", "node1")]
    assert (finding.observed, finding.status) == ("65536 bytes", status)
    assert finding.expected == {"65536": "64 KiB", "64KiB": "64 KiB", "64GiB": "64 GiB"}.get(expected, expected)


@pytest.mark.parametrize("value", ["64 parsecs", "much", True, "1000"])
def test_an_expected_limit_that_is_none_is_refused(value: object) -> None:
    policy, [refused] = read_checks({"preflight_expected": {"memlock": value}})
    assert "memlock" not in policy.expected
    assert refused.expected == "unlimited or a size in whole KiB, such as 64GiB"


def test_an_error_is_not_a_pass_but_only_required_checks_end_with_2() -> None:
    def closed(facts: Facts) -> None:
        facts["node"]["kernel_log"] = None

    result = report("laptop", closed)
    assert alarms(result) == [("kernel log", "node1", "error")]
    assert result.code == 0
    assert report("laptop", closed, levels={"kernel log": "fail"}).code == 2
    assert report("laptop", closed, behind, levels={"kernel log": "fail"}).code == 1


def test_equal_kernel_messages_are_counted() -> None:
    def gone(facts: Facts) -> None:
        error = {"kind": "xid", "code": 79, "device": "0000:1b:00.0", "text": "NVRM: gone", "count": 4000}
        facts["node"]["kernel_log"]["errors"] = [error]

    result = report("dgx_h100_ib", gone)
    assert result.code == 1
    assert "XID 79 of 0000:1b:00.0, 4000 times: NVRM: gone" in "\n".join(render_report(result, 160))


def test_a_threshold_of_the_inventory_wins_and_says_so() -> None:
    policy, refused = read_checks({"preflight_clock_fail": "100", "preflight_disk_warn": 50})
    assert refused == []
    result = report("laptop", behind, thresholds=policy.thresholds)
    assert [status for _check, _node, status in alarms(result)] == ["warn"]
    assert policy.source("clock_fail") == "preflight_clock_fail 100 s: as set"
    assert len(read_checks({"preflight_clock_fail": "soon"})[1]) == 1


@pytest.mark.parametrize("value", ["nan", float("inf"), "-inf", ".nan", 10**400])
def test_a_threshold_is_a_number_that_can_be_passed(value: object) -> None:
    policy, [refused] = read_checks({"preflight_disk_fail": value})
    assert (refused.check, refused.expected) == ("preflight_disk_fail", "a number")
    assert policy.threshold("disk_fail") == 95


def test_what_a_finding_expects_can_be_set() -> None:
    asked = ClusterPolicy(runtime="docker", privileged=True)
    result = report("laptop", policy=asked)
    [finding, _other] = [finding for finding in result.findings if finding.check == "privileged"]
    assert "preflight_expected" not in finding.expected
    assert "preflight_levels: {privileged: off}" in str(finding.remedy)


def test_a_silent_node_is_reported_with_a_remedy() -> None:
    message = "Failed to connect: Host key verification failed."
    result = report("laptop", silent=message)
    assert result.code == 2
    text = "\n".join(render_report(result, 100))
    assert "answer on node1: Failed to connect: Host key verification failed." in text
    assert "expected: a key that is in ~/.ssh/known_hosts (Ansible)" in text
    assert "remedy: connect once with ssh and accept the key, or run discover again; if the message stays," in text
    assert report_verdict(result) == "preflight: could not be checked: answer on node1"


@pytest.mark.parametrize(
    ("message", "remedy"),
    [
        ("ssh: connect to host 10.99.0.2 port 2222: Connection refused", "start sshd there"),
        ("kex_exchange_identification: Connection reset by 10.99.0.2 port 2222", "not SSH on port 2222"),
        (
            "IDENTIFICATION HAS CHANGED!\r\nAdd correct host key in /k/known_hosts.txt to get rid of this message.\r\n"
            "Offending ED25519 key in /k/known_hosts.txt:3\r\nHost key for [10.99.0.2]:2222 has changed and you have "
            "requested strict checking.\r\nHost key verification failed.",
            "ssh-keygen -R '[10.99.0.2]:2222' -f /k/known_hosts.txt",
        ),
        ("Missing sudo password", "passwordless sudo"),
        ("something else", "try it: ssh 10.99.0.2"),
    ],
)
def test_a_silent_node_has_the_same_remedy_as_in_discover(message: str, remedy: str) -> None:
    [finding] = [finding for finding in report("laptop", silent=message).findings if finding.status == "error"]
    assert (finding.check, finding.observed) == ("answer", message)
    assert remedy in str(finding.remedy)
    assert "-e hosts" not in str(finding.remedy)


@pytest.mark.parametrize("width", [60, 100, 160])
def test_the_report_is_never_wider_than_asked(width: int) -> None:
    def much(facts: Facts) -> None:
        behind(facts)
        facts["gpu"]["driver_version"] = "535.104.05"
        facts["node"]["kernel"]["command_line"] = ["pci=realloc=off", "iommu=pt"] * 20

    lines = render_report(report("dgx_h100_ib", much, policy=ClusterPolicy(port_range=(22, 22))), width)
    assert max(map(len, lines)) <= width
    assert all(line.isprintable() for line in lines)


def test_the_table_has_a_row_for_what_differs() -> None:
    def other(facts: Facts) -> None:
        facts["gpu"]["driver_version"] = "535.104.05"

    result = report("dgx_h100_ib", other)
    assert [(row.name, row.value, row.odd) for row in result.rows if row.odd] == [
        ("driver", "550.90.07", {"node1": "535.104.05"})
    ]
    lines = render_report(result, 100)
    assert any(line.split() == ["driver", "550.90.07", "node1:", "535.104.05"] for line in lines)
    assert {row.name for row in result.rows} >= {
        *("driver", "nccl", "torch", "commit", "changes", "firmware", "kernel command line"),
        *("mtu", "clock", "gpu count", "memlock", "kernel"),
    }


def test_a_node_without_a_property_does_not_agree_in_it() -> None:
    def no_engine(facts: Facts) -> None:
        facts["node"]["engine"].update(running=None, version=None, why="whatever sudo says", denied=True)

    asked = ClusterPolicy(runtime="docker", docker=["sudo", "-n", "docker"])
    result = report("laptop", no_engine, policy=asked)
    lines = render_report(result, 1000)
    assert not [line for line in lines if "engine version" in line]
    assert [line for line in lines if line.startswith("node0 and node1 agree in ") and "kernel" in line]
    # An engine that does not let this user ask is there: nothing has to be installed.
    [finding] = [finding for finding in result.findings if finding.check == "engine" and finding.status == "fail"]
    assert str(finding.remedy).startswith("allow sudo -n docker without a password there")


def test_images_in_the_table_are_short_and_have_a_name_in_the_finding() -> None:
    def other(facts: Facts) -> None:
        facts["node"]["engine"]["images"] = {"train:1": {"id": f"sha256:{'c' * 64}", "digests": []}}

    result = report("laptop", other, policy=ClusterPolicy(runtime="docker", image="train:1"))
    lines = render_report(result, 100)
    assert any(line.split() == ["image", "train@sha256:bb", "node1:", f"sha256:{'c' * 12}"] for line in lines)
    [finding] = [finding for finding in result.findings if finding.check == "image" and finding.status == "fail"]
    assert (finding.observed, finding.source) == (f"sha256:{'c' * 64}", "container_image train:1; peers: as on node0")


def test_the_document_is_plain_data() -> None:
    document = json.loads(json.dumps(report_document(report("dgx_h100_ib", behind))))
    assert document["code"] == 1
    assert {finding["status"] for finding in document["results"]} == {"pass", "fail", "skip"}
    assert {"check", "node", "status", "observed", "expected", "source", "remedy", "level"} == set(
        document["results"][0]
    )


def test_a_single_node_has_no_peer() -> None:
    result = report("laptop", silent="gone")
    assert {finding.status for finding in result.findings if finding.check == "torch"} == {"pass"}
    assert not any(line.startswith("property") for line in render_report(result, 100))


def test_the_disk_of_the_work_directory_need_not_be_the_first() -> None:
    def full(facts: Facts) -> None:
        facts["node"]["disks"][0]["free_bytes"] = 1 << 30
        facts["node"]["disks"].reverse()

    findings = [finding for finding in report("laptop", both=full).findings if finding.check == "disks"]
    assert [(finding.node, finding.status) for finding in findings if finding.stops] == [
        ("node0", "fail"),
        ("node1", "fail"),
    ]


def test_the_same_remedy_is_printed_once() -> None:
    def full(facts: Facts) -> None:
        facts["node"]["disks"][0]["free_bytes"] = 1 << 30

    def each_its_own(facts: Facts) -> None:
        facts["node"]["disks"][0]["free_bytes"] = (1 + int(facts["node"]["workdir"]["identity"][-1])) << 30

    alike = render_report(report("laptop", both=full), 100)
    assert "  disks on node0 and node1: /home/ann/muster (/) is 100 % full, 1.0 GiB free" in alike
    lines = render_report(report("laptop", both=each_its_own), 100)
    place = lines.index("  disks")
    assert lines[place + 1 : place + 3] == [
        "    on node0: /home/ann/muster (/) is 100 % full, 1.0 GiB free",
        "    on node1: /home/ann/muster (/) is 100 % full, 2.0 GiB free",
    ]
    assert sum(line.startswith("    remedy:") for line in lines) == 1
