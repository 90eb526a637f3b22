# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb `discover`, with ssh's programs and the answers of hosts as data."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import PlanError
from ansible_collections.muster.train.plugins.plugin_utils._verbs import discover as verb
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion, Play
from ansible_collections.muster.train.tests.support.detect_parts import laptop
from ansible_collections.muster.train.tests.support.plan_parts import facts_dict
from ansible_collections.muster.train.tests.support.requests import inventory, make

KEY, OTHER_KEY = "ssh-ed25519 AAAA", "ssh-ed25519 BBBB"
FILES = ["hosts.yml", "group_vars/nodes.yml", "known_hosts.txt"]


@pytest.fixture
def port() -> Iterator[int]:
    """A port of this machine that answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture(autouse=True)
def trusted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is written to temporary files."""
    texts: list[str] = []

    def write(prefix: str, text: str) -> str:
        texts.append(text)
        return f"/tmp/{prefix}1"

    monkeypatch.setattr(verb, "write_temporary", write)
    return texts


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """What a user types, in order."""
    typed: list[str | None] = []
    monkeypatch.setattr(verb, "ask_user", lambda _question: typed.pop(0))
    return typed


def run_ssh(argv: Sequence[str], _timeout: float) -> str | None:
    """Be ssh, with settings for two hosts, and ssh-keyscan of hosts that have the same key."""
    if argv[0] == "ssh":
        return {"behind": "proxyjump bastion\n", "alias": "hostname 127.0.0.1\n"}.get(argv[-1], "")
    return "".join(f"[{name}]:{argv[argv.index('-p') + 1]} {KEY}\n" for name in argv[argv.index("--") + 1 :])


def play_of(
    home: Path, nodes: str, known: dict[str, Any] | None = None, is_checked: bool = False, **given: Any
) -> Play:
    request = make({"cluster": "lab", "nodes": nodes, **given}, verb="discover", nodes=inventory())
    policy = {"discover_dir": str(home)}
    return Play(
        request,
        read_policy=lambda names: {name: policy[name] for name in names if name in policy},
        read_answer=lambda host, name: (known or {}).get(f"{host} {name}"),
        run_command=run_ssh,
        is_checked=is_checked,
    )


def collected(home: Path, nodes: str, **given: Any) -> dict[str, Any]:
    return dict(verb.keys.conclusion(play_of(home, nodes, **{"accept_keys": True, **given})).result)


def reported(home: Path, nodes: str, *names: str, **options: Any) -> Conclusion:
    """The report of these hosts, of which those with these names answer."""
    known: dict[str, Any] = {"localhost discover__keys": collected(home, nodes)}
    for number, name in enumerate(names):
        known[f"{name} discover__facts"] = {"ansible_facts": {**laptop(), "node": facts_dict(number)}}
    return verb.report.conclusion(play_of(home, nodes, known, **options))


def error_of(home: Path, nodes: str, **given: Any) -> str:
    with pytest.raises(UserError) as caught:
        collected(home, nodes, **given)
    return str(caught.value)


def test_the_keys_of_all_hosts_are_collected(tmp_path: Path, port: int, trusted: list[str]) -> None:
    answer = collected(tmp_path, f"ann@127.0.0.1:{port}")
    [host] = answer["hosts"]
    assert (host["host"], host["port"], host["user"], host["reached"]) == ("127.0.0.1", port, "ann", True)
    assert trusted == [answer["known_hosts"]] == [f"[127.0.0.1]:{port} {KEY}\n"]
    assert "/tmp/known_hosts.1" in answer["ssh_args"]


def test_keys_of_other_hosts_stay_known(tmp_path: Path, port: int, trusted: list[str]) -> None:
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "known_hosts.txt").write_text(f"other {OTHER_KEY}\n[127.0.0.1]:{port} {KEY}\n")
    answer = collected(tmp_path, f"127.0.0.1:{port}", accept_keys=False)  # this one was accepted before
    assert trusted == [f"[127.0.0.1]:{port} {KEY}\n"]
    assert answer["known_hosts"] == f"[127.0.0.1]:{port} {KEY}\nother {OTHER_KEY}\n"


@pytest.mark.parametrize(("typed", "is_accepted"), [("yes", True), ("Y", True), ("no", False), ("", False)])
def test_the_user_is_asked(
    tmp_path: Path, port: int, answers: list[str | None], trusted: list[str], typed: str, is_accepted: bool
) -> None:
    answers.append(typed)
    if is_accepted:
        collected(tmp_path, f"127.0.0.1:{port}", accept_keys=False)
    else:
        assert error_of(tmp_path, f"127.0.0.1:{port}", accept_keys=False).startswith("host keys: ")
    assert bool(trusted) is is_accepted


def test_without_a_terminal_no_key_is_accepted(tmp_path: Path, port: int, answers: list[str | None]) -> None:
    answers.append(None)
    assert "-e accept_keys=true" in error_of(tmp_path, f"127.0.0.1:{port}", accept_keys=False)


def test_a_host_that_cannot_be_contacted_is_refused(tmp_path: Path, port: int) -> None:
    (tmp_path / "lab").mkdir()
    known = tmp_path / "lab" / "known_hosts.txt"
    known.write_text(f"[127.0.0.1]:{port} {OTHER_KEY}\n")
    with pytest.raises(PlanError) as caught:
        collected(tmp_path, f"127.0.0.1:{port},behind")
    assert [(finding.node, finding.check) for finding in caught.value.findings] == [
        ("127.0.0.1", "host key"),
        ("behind", "host key"),
    ]
    known.write_text("")
    hosts = collected(tmp_path, f"127.0.0.1:{port},behind")["hosts"]
    assert [(host["name"], host["reached"]) for host in hosts] == [("127.0.0.1", True), ("behind", False)]


def test_two_names_of_one_port_are_refused(tmp_path: Path, port: int) -> None:
    assert "name it once" in error_of(tmp_path, f"127.0.0.1:{port},alias:{port}")


def test_an_inventory_is_not_overwritten(tmp_path: Path, port: int) -> None:
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "hosts.yml").touch()
    assert "-e force=true" in error_of(tmp_path, f"127.0.0.1:{port}")
    assert collected(tmp_path, f"127.0.0.1:{port}", force=True)["hosts"]


def test_the_inventory_of_hosts_that_answered(tmp_path: Path, port: int) -> None:
    nodes = f"127.0.0.1:{port}"
    conclusion = reported(tmp_path, nodes, "127.0.0.1")
    assert [str(file.path.relative_to(tmp_path / "lab")) for file in conclusion.files] == FILES
    hosts, _policy, known_hosts = conclusion.files
    assert yaml.safe_load(hosts.text) == {
        "nodes": {"hosts": {"127.0.0.1": {"ansible_host": "127.0.0.1", "ansible_port": port}}}
    }
    assert known_hosts.text == f"[127.0.0.1]:{port} {KEY}\n"
    assert conclusion.failure is None
    assert conclusion.document is not None
    assert (conclusion.document["inventory"], conclusion.document["errors"]) == (str(tmp_path / "lab"), [])
    assert f"-i {tmp_path}/lab muster.train.launch" in str(conclusion.closing_lines[-1])
    assert reported(tmp_path, nodes, "127.0.0.1", is_checked=True).closing_lines == []


def test_when_a_file_was_written_is_no_difference(tmp_path: Path, port: int) -> None:
    first = reported(tmp_path, f"127.0.0.1:{port}", "127.0.0.1")
    for file in first.files:
        assert file.is_same is not None
        assert file.is_same(file.text)
        assert not file.is_same(f"{file.text}# mine\n")
    hosts = first.files[0]
    assert hosts.is_same is not None
    assert "2026-11-20" in hosts.text and hosts.is_same(hosts.text.replace("2026-11-20", "2026-11-21"))


def test_hosts_without_an_answer_are_reported(tmp_path: Path, port: int) -> None:
    conclusion = reported(tmp_path, f"127.0.0.1:{port},behind", "127.0.0.1")
    assert conclusion.document is not None
    assert [error["node"] for error in conclusion.document["errors"]] == ["behind"]
    assert conclusion.failure is not None
    assert conclusion.failure.records() == [], "the document has them"
    assert list(yaml.safe_load(conclusion.files[0].text)["nodes"]["hosts"]) == ["127.0.0.1"]


def test_without_an_answer_nothing_is_written(tmp_path: Path, port: int) -> None:
    conclusion = reported(tmp_path, f"127.0.0.1:{port}")
    assert conclusion.failure is not None
    assert conclusion.document is not None
    assert ([error["node"] for error in conclusion.document["errors"]], conclusion.files) == (["127.0.0.1"], ())


def test_every_host_is_asked_what_the_choices_need() -> None:
    options = verb.facts.options(Play({}), "n1")
    assert options is not None
    assert set(options) == {"data_dirs", "subset"}
