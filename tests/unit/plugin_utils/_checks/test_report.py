# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of preflight's levels, its report and its exit code."""

from __future__ import annotations

import functools
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
from ansible_collections.muster.train.plugins.plugin_utils._checks.report import Report, document, render
from ansible_collections.muster.train.plugins.plugin_utils._checks.variables import read_checks
from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import ClusterPolicy
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.tests.support.cases import Case, outcomes
from ansible_collections.muster.train.tests.support.preflight_parts import NOW, Facts, alarms, report
from ansible_collections.muster.train.tests.support.sources import ROOT


def behind(facts: Facts) -> None:
    facts["node"]["clock"]["wall"] = NOW - 60


def other_driver(facts: Facts) -> None:
    facts["gpu"]["driver_version"] = "535.104.05"


def full_disk(facts: Facts) -> None:
    facts["node"]["disks"][0]["free_bytes"] = 1 << 30


def fuller_disk(facts: Facts) -> None:
    """Fill the disk of each node to another size."""
    facts["node"]["disks"][0]["free_bytes"] = (1 + int(facts["node"]["workdir"]["identity"][-1])) << 30


def gone(facts: Facts) -> None:
    error = {"kind": "xid", "code": 79, "device": "0000:1b:00.0", "text": "NVRM: gone", "count": 4000}
    facts["node"]["kernel_log"]["errors"] = [error]


def closed_engine() -> Report:
    """The report on a node whose engine does not let this user ask, and which therefore is there."""

    def close(facts: Facts) -> None:
        facts["node"]["engine"].update(running=None, version=None, why="whatever sudo says", denied=True)

    return report("laptop", close, policy=ClusterPolicy(runtime="docker", docker=["sudo", "-n", "docker"]))


OTHER_IMAGE = f"sha256:{'c' * 64}"


def other_image() -> Report:
    def change(facts: Facts) -> None:
        facts["node"]["engine"]["images"] = {"train:1": {"id": OTHER_IMAGE, "digests": []}}

    return report("laptop", change, policy=ClusterPolicy(runtime="docker", container_image="train:1"))


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


def invalid(name: str, variable: str, value: object) -> Case:
    return Case(name, lambda: read_checks({variable: value})[1], [(variable, None, "fail")])


INVALID = [
    invalid("an unknown check", "preflight_levels", {"clocks": "warn"}),
    invalid("an unknown level", "preflight_levels", {"clock": "error"}),
    invalid("levels that are a list", "preflight_levels", ["clock"]),
    invalid("an unknown property", "preflight_expected", {"gpu": 8}),
    *(
        invalid(f"memlock of {value!r}", "preflight_expected", {"memlock": value})
        for value in ("64 parsecs", "much", True, "1000")
    ),
    invalid("a threshold that is a word", "preflight_clock_fail", "soon"),
    *(
        invalid(f"a threshold of {value!r:.10}", "preflight_disk_fail", value)
        for value in ("nan", float("inf"), "-inf", ".nan", 10**400)
    ),
]


@pytest.mark.parametrize("case", INVALID, ids=str)
def test_an_invalid_policy_is_refused(case: Case) -> None:
    assert outcomes(case.find()) == case.outcomes


@pytest.mark.parametrize(
    "variables",
    [
        {"preflight_levels": {"clocks": "warn"}},
        {"preflight_levels": {"clock": "error"}},
        {"preflight_levels": ["clock"]},
        {"preflight_expected": {"memlock": "much"}},
        {"preflight_disk_fail": "nan"},
    ],
)
def test_what_is_refused_has_no_effect(variables: dict[str, object]) -> None:
    assert read_checks(variables)[0] == CheckPolicy()


SLURM_STEP: dict[str, object] = {"job": "12", "step": "3", "node": "gpu01", "is_tracked": True}


def memlock(expected: str, srun_job: str | None = None, container: str | None = None, uid: int = 1000) -> list[Finding]:
    """What is found of 64 KiB of locked memory in a step, or in a container, where the inventory expects this."""

    def limited(facts: Facts) -> None:
        facts["node"]["user"] = {"name": "ann", "uid": uid, "home": "/h"}
        facts["node"]["memlock"] = {"soft": 65536, "hard": 65536, "cap_ipc_lock": False, "effective": 65536}
        facts["node"]["slurm"] = None if container else SLURM_STEP
        if container:
            facts["node"]["container"]["kind"] = container
            facts["node"]["systemd"] = {"booted": False, "linger": False}

    policy, refused = read_checks({"preflight_expected": {"memlock": expected}})
    assert refused == []
    result = report("dgx_h100_ib", limited, expected=dict(policy.expected), srun_job=srun_job)
    return [finding for finding in result.findings if (finding.check, finding.node) == ("memlock", "node1")]


@pytest.mark.parametrize(
    ("expected", "status"), [("64KiB", "pass"), ("65536", "pass"), ("64GiB", "fail"), ("unlimited", "fail")]
)
def test_locked_memory_is_compared_in_bytes(expected: str, status: str) -> None:
    assert outcomes(memlock(expected)) == [("memlock", "node1", status)]


def test_by_steps_of_a_slurm_job_the_limit_is_slurmds_to_raise() -> None:
    outside, inside = memlock("unlimited"), memlock("unlimited", "12")
    assert outcomes(inside) == outcomes(outside)
    assert inside[0].remedy != outside[0].remedy


def test_in_a_pod_the_limit_is_the_manifests() -> None:
    root, pod = (memlock("unlimited", container="kubernetes", uid=uid) for uid in (0, 1000))
    container = memlock("unlimited", container="docker")
    assert outcomes(root) == outcomes(pod) == outcomes(container)
    # Kubernetes gives the capability to root alone.
    assert len({findings[0].remedy for findings in (root, pod, container)}) == 3


def test_an_error_is_not_a_pass_but_only_required_checks_end_with_2() -> None:
    def closed(facts: Facts) -> None:
        facts["node"]["kernel_log"] = None

    result = report("laptop", closed)
    assert alarms(result) == [("kernel log", "node1", "error")]
    assert result.code == 0
    assert report("laptop", closed, levels={"kernel log": "fail"}).code == 2
    assert report("laptop", closed, behind, levels={"kernel log": "fail"}).code == 1


def test_a_threshold_of_the_inventory_wins() -> None:
    policy, refused = read_checks({"preflight_clock_fail": "100", "preflight_disk_warn": 50})
    assert refused == []
    result = report("laptop", behind, thresholds=policy.thresholds)
    assert [status for _check, _node, status in alarms(result)] == ["warn"]


KEY_CHANGED = (
    "IDENTIFICATION HAS CHANGED!\r\nAdd correct host key in /k/known_hosts.txt to get rid of this message.\r\n"
    "Offending ED25519 key in /k/known_hosts.txt:3\r\nHost key for [10.99.0.2]:2222 has changed and you have "
    "requested strict checking.\r\nHost key verification failed."
)
# What Ansible says of a node that does not answer.
SILENCES = {
    "its key is not known": "Failed to connect: Host key verification failed.",
    "its key has changed": KEY_CHANGED,
    "connection refused": "ssh: connect to host 10.99.0.2 port 2222: Connection refused",
    "not SSH": "kex_exchange_identification: Connection reset by 10.99.0.2 port 2222",
    "no password for sudo": "Missing sudo password",
    "something else": "something else",
}


def silence(message: str) -> list[Finding]:
    return [finding for finding in report("laptop", silent=message).findings if finding.status == "error"]


SILENT = [
    Case(f"a silent node: {name}", functools.partial(silence, message), [("answer", "node1", "error")])
    for name, message in SILENCES.items()
]


@pytest.mark.parametrize("case", SILENT, ids=str)
def test_a_silent_node_is_an_error(case: Case) -> None:
    assert outcomes(case.find()) == case.outcomes


def test_the_words_of_a_silent_node_are_kept_and_it_is_not_a_pass() -> None:
    result = report("laptop", silent=KEY_CHANGED)
    assert [finding.observed for finding in result.findings if finding.status == "error"] == [KEY_CHANGED]
    assert result.code == 2


@pytest.mark.parametrize("width", [60, 100, 160])
def test_the_report_is_never_wider_than_asked(width: int) -> None:
    def much(facts: Facts) -> None:
        behind(facts)
        facts["gpu"]["driver_version"] = "535.104.05"
        facts["node"]["kernel"]["command_line"] = ["pci=realloc=off", "iommu=pt"] * 20

    lines = render(report("dgx_h100_ib", much, policy=ClusterPolicy(port_range=(22, 22))), width)
    assert max(map(len, lines)) <= width
    assert all(line.isprintable() for line in lines)


def test_the_table_has_a_row_for_what_differs() -> None:
    result = report("dgx_h100_ib", other_driver)
    assert [(row.name, row.value, row.odd) for row in result.rows if row.odd] == [
        ("driver", "550.90.07", {"node1": "535.104.05"})
    ]
    assert {row.name for row in result.rows} >= {
        *("driver", "nccl", "torch", "commit", "changes", "firmware", "kernel command line"),
        *("mtu", "clock", "gpu count", "memlock", "kernel"),
    }


def test_a_node_without_a_property_does_not_agree_in_it() -> None:
    result = closed_engine()
    assert ("engine", "node1", "fail") in alarms(result)
    rows = {row.name: row.nodes for row in result.rows if not row.odd}
    assert rows["kernel"] == ("node0", "node1")
    assert rows.get("engine version") in (None, ("node0",))


def test_an_image_has_its_digest_in_the_finding() -> None:
    [finding] = [finding for finding in other_image().findings if finding.check == "image" and finding.status == "fail"]
    assert finding.observed == OTHER_IMAGE


def test_the_document_is_plain_data() -> None:
    data = json.loads(json.dumps(document(report("dgx_h100_ib", behind))))
    assert data["code"] == 1
    assert {finding["status"] for finding in data["results"]} == {"pass", "fail", "skip"}
    assert {"check", "node", "status", "observed", "expected", "source", "remedy", "level"} == set(data["results"][0])


def test_a_single_node_has_no_peer() -> None:
    result = report("laptop", silent="gone")
    assert {finding.status for finding in result.findings if finding.check == "torch"} == {"pass"}


def test_the_disk_of_the_work_directory_need_not_be_the_first() -> None:
    def last(facts: Facts) -> None:
        full_disk(facts)
        facts["node"]["disks"].reverse()

    findings = [finding for finding in report("laptop", both=last).findings if finding.check == "disks"]
    assert [(finding.node, finding.status) for finding in findings if finding.stops] == [
        ("node0", "fail"),
        ("node1", "fail"),
    ]
