# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The corpus through everything that takes a text: a refusal that names the field, or the same bytes at the other end.

The fields come from the code's own tables, so that a new one is covered by itself.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.module_utils._records.job import RUN_ID as RUN_NAME
from ansible_collections.muster.train.plugins.module_utils._records.job import Job, Variable
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.module_utils._runs import start
from ansible_collections.muster.train.plugins.module_utils._runs.read import run_directory
from ansible_collections.muster.train.plugins.module_utils._runs.starters import detached
from ansible_collections.muster.train.plugins.module_utils._runs.starters.base import StartError
from ansible_collections.muster.train.plugins.module_utils._runs.starters.docker import Docker
from ansible_collections.muster.train.plugins.module_utils.runner import files
from ansible_collections.muster.train.plugins.module_utils.runner.environment import environment_of
from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import NAMES, ClusterPolicy, check_alike
from ansible_collections.muster.train.plugins.plugin_utils._detect import files as detect_files
from ansible_collections.muster.train.plugins.plugin_utils._detect.detected import DetectedNode
from ansible_collections.muster.train.plugins.plugin_utils._findings import finding
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import PlanError
from ansible_collections.muster.train.plugins.plugin_utils._nccl.library import Library
from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.plugins.plugin_utils._plan.text import render as render_text
from ansible_collections.muster.train.plugins.plugin_utils._request import host_list, memory_limit
from ansible_collections.muster.train.plugins.plugin_utils._request.nodes import Inventory, InventoryHost
from ansible_collections.muster.train.plugins.plugin_utils._request.parameters import Parameter
from ansible_collections.muster.train.plugins.plugin_utils._request.request import InvalidRequest, make_request
from ansible_collections.muster.train.plugins.plugin_utils._request.verbs import VERBS
from ansible_collections.muster.train.plugins.plugin_utils._results import experiment, progress
from ansible_collections.muster.train.plugins.plugin_utils._results.collected import target
from ansible_collections.muster.train.plugins.plugin_utils._results.infos import read_infos
from ansible_collections.muster.train.plugins.plugin_utils._results.report import (
    explanation,
    log_lines,
    not_started,
    status_table,
    unanswered,
)
from ansible_collections.muster.train.plugins.plugin_utils._results.report import summary as report_summary
from ansible_collections.muster.train.plugins.plugin_utils._results.verdict import judge
from ansible_collections.muster.train.plugins.plugin_utils._setup import compose, memlock
from ansible_collections.muster.train.tests.support.corpus import corpus
from ansible_collections.muster.train.tests.support.plan_parts import (
    POLICY,
    RUN_ID,
    facts,
    node,
    policy,
    read_policy,
    request,
)
from ansible_collections.muster.train.tests.support.requests import SITUATION

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PARAMETERS = [(verb, parameter) for verb, parameters in VERBS.items() for parameter in parameters]
TWO = Inventory((InventoryHost("node0"), InventoryHost("node1")), ("/clusters/lab/hosts.yml",), None)
Lines = tuple[str, ...]


@pytest.fixture(scope="module", autouse=True)
def texts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    canaries = tmp_path_factory.mktemp("injection") / "canaries"
    yield corpus(canaries)
    assert list(canaries.iterdir()) == []


def ask(verb: str, raw: dict[str, Any], **more: Any) -> tuple[dict[str, Any] | None, Lines]:
    """Return the values of a request's parameters, or the lines of its refusal."""
    given: dict[str, Any] = {"extra_vars": raw, "environment": {}, "defaults": {}, "documented": (), **more}
    if verb == "launch" and not {"script", "module"} & {*raw, *given["defaults"]}:
        given["defaults"] = {**given["defaults"], "script": "train.py"}
    try:
        made = make_request(verb, **{"inventory": TWO, "situation": SITUATION, **given})
    except InvalidRequest as refused:
        return None, refused.lines
    return {name: setting["value"] for name, setting in made["parameters"].items()}, ()


def attempt(call: Callable[..., Any], *args: object) -> tuple[Any, str | None]:
    """Return what came of a call, and the refusal's words."""
    try:
        return call(*args), None
    except (ValueError, StartError, PlanError) as refused:
        return None, str(refused)


def refuses(field: str, lines: Lines) -> None:
    """Each line names the field and leaves the terminal as it is; none is longer than a person reads."""
    assert lines
    for line in lines:
        assert line.startswith(f"{field}: "), line
        assert line.isprintable(), line
        assert len(line) < 1000


# The parameters of the verbs


def shapes(parameter: Parameter, text: str) -> list[tuple[object, object]]:
    """Return what can be given with the text in it, and what has to come of it when it is taken."""
    if parameter.type == "arguments":
        return [([text], [text]), (["--x", text, text], ["--x", text, text]), (text, None)]
    if parameter.type == "environment":
        return [({"X": text}, {"X": text}), ({text: "1"}, {text: "1"}), (text, None)]
    if parameter.type == "hosts":
        return [([text], [text]), (text, [text]), (f"a,{text}", [f"a,{text}"])]
    return [(text, text)]


def means(parameter: Parameter, text: object) -> object:
    """Return what a text is for a parameter that is no text."""
    if parameter.type == "bool":
        return str(text).lower() in ("yes", "true", "1", "on")
    if parameter.type == "int":
        return int(str(text))
    if parameter.type == "arguments":
        return json.loads(str(text)) if str(text).lstrip().startswith("[") else shlex.split(str(text))
    return {} if text == "" else json.loads(str(text))


@pytest.mark.parametrize(
    ("verb", "parameter"), PARAMETERS, ids=[f"{verb}-{parameter.name}" for verb, parameter in PARAMETERS]
)
def test_a_parameter(verb: str, parameter: Parameter, texts: dict[str, str]) -> None:
    ways: list[Callable[[object], dict[str, Any]]] = [lambda raw: {"raw": {parameter.name: raw}}]
    if verb == "launch" and not parameter.per_run:
        ways.append(lambda raw: {"raw": {}, "defaults": {parameter.name: raw}})
    if parameter.environment:
        variable = parameter.environment
        ways.append(lambda raw: {"raw": {}, "environment": {variable: str(raw)}})
    for text in texts.values():
        for raw, kept in shapes(parameter, text):
            for way in ways:
                values, lines = ask(verb, **way(raw))
                if values is None:
                    # What it is given in vain, or cleared by an empty text, is missing beside it.
                    missing = ("cluster: expected the name", "nodes: expected the hosts in one way", "script: neither")
                    relevant = tuple(line for line in lines if not line.startswith(missing))
                    assert relevant or text == "" or verb == "discover"
                    refuses(parameter.name, relevant or (f"{parameter.name}: ",))
                elif values[parameter.name] != kept and text != "":
                    assert values[parameter.name] == means(parameter, raw)


@pytest.mark.parametrize("verb", VERBS)
def test_a_name_that_is_no_parameter(verb: str, texts: dict[str, str]) -> None:
    for text in texts.values():
        for raw in ({text: "1"}, {"_raw_params": text}):
            _values, lines = ask(verb, raw)
            assert all(line.isprintable() for line in lines)
            assert any("unknown parameter" in line or "is not NAME=VALUE" in line for line in lines) or text == ""


# The inventory


@pytest.mark.parametrize("verb", VERBS)
def test_a_node_and_its_address(verb: str, texts: dict[str, str]) -> None:
    plain = re.compile("[A-Za-z0-9]([A-Za-z0-9._-]{0,250}[A-Za-z0-9])?")
    for text in texts.values():
        for bad, fine in (
            (InventoryHost(text), plain.fullmatch(text)),
            (InventoryHost("node1", text), text == "" or plain.fullmatch(text)),
            (InventoryHost("node1", "10.0.0.2", text), text == "" or re.fullmatch("[0-9]{1,5}", text)),
        ):
            asked = ask(verb, {}, inventory=dataclasses.replace(TWO, nodes=(InventoryHost("node0"), bad)))[1]
            lines = [line for line in asked if line.startswith("inventory: ")]
            assert bool(lines) != bool(fine), text[:60]
            assert all(line.isprintable() and len(line) < 400 for line in asked)
        _values, lines_ = ask(verb, {}, inventory=Inventory((), (text,), text))
        assert all(line.isprintable() for line in lines_)


def test_a_list_of_hosts(texts: dict[str, str]) -> None:
    for text in texts.values():
        for read in (host_list.parse_hosts, host_list.parse_node_list):
            targets, refusal = attempt(read, text)
            assert refusal is None or all(line.isprintable() for line in refusal.split("\n"))
            for host in targets or []:
                assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", host.host)
                assert not host.user or host_list.USER.fullmatch(host.user)


def test_a_run_of_a_node(texts: dict[str, str], tmp_path: Path) -> None:
    for text in texts.values():
        if RUN_NAME.fullmatch(text):
            assert run_directory(str(tmp_path), "node0", text) == f"{tmp_path}/.muster/nodes/node0/runs/{text}"
        else:
            with pytest.raises(ValueError, match="is not a valid run ID") as refused:
                run_directory(str(tmp_path), "node0", text)
            assert str(refused.value).isprintable()


# The cluster's policy


def findings_against(plan: Callable[[], object]) -> list[finding.Finding]:
    """Return the findings that stand against it."""
    _value, refused = attempt(plan)
    if refused is None:
        return []
    with pytest.raises(PlanError) as caught:
        plan()
    assert all(line.isprintable() for line in refused.split("\n"))
    return caught.value.findings


def variants(name: str, text: str) -> list[object]:
    """Return the values with the text in it that a variable could be given."""
    if name in ("launch_env", "preflight_expected", "preflight_levels"):
        return [{text: "1"}, {"clock": text}, {"NCCL_X": text}, text, [text]]
    return [["docker", text], [text], text] if name == "launch_docker" else [text, [text], {text: text}]


@pytest.mark.parametrize("name", NAMES)
def test_a_variable_of_the_policy(name: str, texts: dict[str, str]) -> None:
    for text in texts.values():
        for raw in variants(name, text):
            findings = findings_against(functools.partial(read_policy, {**POLICY, name: raw}))
            # The thresholds are the role's: preflight_NAME, told as they are called.
            assert all(name in one.check or name in str(one) for one in findings), findings
            if not findings and isinstance(raw, str):
                kept = read_policy({**POLICY, name: raw})
                value = getattr(kept, name.removeprefix("launch_"), raw)
                assert value == raw or isinstance(value, (int, list, tuple)), (value, raw)


def test_an_address_of_the_head_is_one(texts: dict[str, str]) -> None:
    for text in texts.values():
        if re.fullmatch(r"[a-z]*(\.[a-z]+)?", text):  # yes, null and nan are names too
            continue
        [problem] = findings_against(functools.partial(policy, head_address=text))
        assert problem.check == "launch_head_address"


def test_what_differs_among_nodes_is_told_on_one_line(texts: dict[str, str]) -> None:
    for text in texts.values():
        for name in ("launch_slot", "launch_env"):
            value = {text: text} if name == "launch_env" else text
            findings = check_alike({"node0": {name: "x"}, "node1": {name: value}})
            assert all(line.isprintable() for line in finding.lines(findings))


# From the plan to the ranks


def planned(workdir: str = "/home/ann/muster", of: ClusterPolicy | None = None, **parameters: Any) -> Job:
    """Return the first node's job of a plan, as it arrives on the node."""
    names = [parameters.get(name) for name in ("script", "config")]
    paths = {name: {"path": f"/code/{name}", "exists": True, "readable": True, "sha256": "1"} for name in names if name}
    paths["train.py"] = {"path": "/code/train.py", "exists": True, "readable": True, "sha256": "1"}
    if of is not None:
        paths[of.compose_file] = {"path": of.compose_file, "exists": True, "readable": True, "sha256": "1"}
    nodes = [node(number, files=paths, workdir__path=f"{workdir}{number}") for number in range(2)]
    plan = make_plan(request(**parameters), of or policy(), nodes)
    text = render_text(plan)
    assert all(line.isprintable() for line in text.split("\n"))
    return Job.from_dict(json.loads(json.dumps(plan))["jobs"]["node0"])


def accepted(name: str, text: str) -> bool:
    return ask("launch", {name: text})[0] is not None


@pytest.mark.parametrize("launcher", ["torchrun", "python"])
def test_what_is_taken_is_one_word_and_the_same_bytes(launcher: str, texts: dict[str, str]) -> None:
    taken = [text for text in texts.values() if text and accepted("script", text)]
    assert len(taken) > 40
    for text in taken:
        job = planned(launcher=launcher, script=text, config=f"{text}.yml", script_args=[text], env={"X": text})
        assert job.argv[-4:] == [f"/code/{text}", text, "--config", f"/code/{text}.yml"]
        usual = planned(launcher=launcher, script="train.py", config="x.yml", script_args=["x"], env={"X": "x"})
        assert job.argv[:-4] == usual.argv[:-4]
        before, after = ({variable.name: variable.value for variable in one.environment} for one in (usual, job))
        assert after == {**before, "X": text}


def test_the_runner_reads_the_same_bytes(texts: dict[str, str], tmp_path: Path) -> None:
    for number, text in enumerate(texts.values()):
        if "\0" in text or "\udcff" in text:
            continue
        job = planned(env={"PLAIN": "x"})
        job = dataclasses.replace(job, argv=[text], environment=[Variable("X", text, "", "")])
        files.write_json(str(tmp_path / f"{number}.json"), job.to_dict())
        secrets = start.check_secrets({"HF_TOKEN": text})
        files.write_json(str(tmp_path / f"{number}.private"), {"secrets": secrets, "environment": {}})
        back = Job.from_dict(files.read_json(str(tmp_path / f"{number}.json")))
        environment = environment_of(back, files.read_json(str(tmp_path / f"{number}.private")))
        assert (back.argv, environment["X"], environment["HF_TOKEN"]) == ([text], text, text)


def test_a_secret(texts: dict[str, str]) -> None:
    for text in texts.values():
        for secrets in ({text: "x"}, {"HF_TOKEN": text}):
            kept, refused = attempt(start.check_secrets, secrets)
            if refused is None:
                assert kept == secrets
            else:
                assert refused.startswith("launch_secrets: ")
                assert refused.isprintable()
                assert len(refused) < 200
                assert "touch" not in refused or text in secrets


def as_systemd_runs(word: str) -> str:
    """Return a word in which $$ is a $ and nothing is a variable (systemd.service(5), Command lines; Compose alike)."""
    assert not re.search(r"(?<!\$)(?:\$\$)*\$(?!\$)", word), word
    return word.replace("$$", "$")


@pytest.mark.parametrize("user", [False, True])
def test_a_units_command_line_is_the_runners(user: bool, texts: dict[str, str], tmp_path: Path) -> None:
    for text in texts.values():
        if "\0" in text or "/" in text or text in ("", ".", ".."):
            continue
        job = dataclasses.replace(planned(), run_dir=f"/work/{text}/x", workdir=f"/work/{text}")
        runner = start.runner_command(job, "systemd")
        command = detached.SystemdStarter(user=user).command(job, runner)
        arguments = command[command.index("--") + 1 :]
        assert [as_systemd_runs(word) for word in arguments] == runner
        assert all(word.startswith("--property=") for word in command[command.index("--unit") + 2 : -len(runner) - 1])
        assert f"--property=WorkingDirectory={job.workdir}" in command


def test_dockers_command_line_is_the_runners(texts: dict[str, str]) -> None:
    for text in texts.values():
        if not _nothing_against(functools.partial(policy, runtime="docker", compose_file=text)):
            continue
        boxed = planned(
            workdir=f"/work/{text}", of=policy(runtime="docker", compose_file=text, docker=["docker", "-H", text])
        )
        job = dataclasses.replace(boxed, code_dir=f"/code/{text}")
        runner = start.runner_command(job, "docker")
        command = Docker().command(job, runner)
        assert command[:6] == ["docker", "-H", text, "compose", "--file", text]
        assert command[-len(runner) - 3 :] == [job.code_dir, "--entrypoint", runner[0], "train", *runner[1:]]
        plain = Docker().command(
            dataclasses.replace(planned(of=policy(runtime="docker", docker=["docker", "-H", "x"]))), runner
        )
        assert len(command) == len(plain)


def _nothing_against(attempt: Callable[[], object]) -> bool:
    return not findings_against(attempt)


# What roles write


OPTIONS = {
    "project": "muster",
    "image": "train:1",
    "workdir": "/home/ann/muster",
    "code_dir": "/home/ann/muster/code",
}
NOT_TEXT = ("memlock", "stack", "stop_grace", "gpus", "gpu_request")  # numbers and choices, which the role judges
OF_COMPOSE = [field.name for field in dataclasses.fields(compose.Options) if field.name not in NOT_TEXT]


def in_compose(name: str, text: str) -> list[Any]:
    """Return values of an option of the compose file with the text in it."""
    if name in ("build", "options"):
        return [{"x": text}, {text: "x"}, {"x": [text]}, {"args": {text: text}}]
    if name in ("data_dirs", "mounts", "capabilities"):
        return [[text], [f"/data/{text}"]]
    if name in ("privileged", "profiling"):
        return []
    return [text, f"/{text}"] if name.endswith(("dir", "file", "conf")) else [text]


def as_compose_reads(value: Any) -> Any:
    """Return a document after Compose's interpolation, which is of values and not of keys; none names a variable."""
    if isinstance(value, dict):
        return {key: as_compose_reads(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_compose_reads(item) for item in value]
    return as_systemd_runs(value) if isinstance(value, str) else value


def parts(value: Any) -> Iterator[Any]:
    """Return a document and all that is in it."""
    yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from parts(item)


@pytest.mark.parametrize("name", OF_COMPOSE)
def test_a_compose_file_says_the_same(name: str, texts: dict[str, str]) -> None:
    for text in texts.values():
        if "\udcff" in text:  # no YAML can have it, and Ansible reads none
            continue
        for value in in_compose(name, text):
            given_options = compose.Options(**{**OPTIONS, name: value})
            written, refused = attempt(compose.render, given_options, facts(0, devices=[]), Gpu(None, 0))
            if refused is not None:
                assert refused.startswith((f"container_{name}: ", f"container_{name} is empty"))
                assert refused.isprintable()
                assert len(refused) < 300
                continue
            document = yaml.safe_load(written)
            assert list(document) == ["name", "services"]
            document_parts = list(parts(as_compose_reads(document)))
            given = list(value.values()) if name == "options" else value if isinstance(value, list) else [value]
            assert all(part in document_parts for part in given if part), (name, value)


def test_limits_for_a_name(texts: dict[str, str]) -> None:
    for text in texts.values():
        for field, read in (("memlock_for", memlock.check_name), ("memlock_limit", memory_limit.parse_limit)):
            kept, refused = attempt(read, text)
            if refused is not None:
                assert refused.startswith(field)
                assert refused.isprintable()
                assert len(refused) < 300
            else:
                written = memlock.limits_text(str(kept) if field == "memlock_for" else "ann", -1)
                assert re.fullmatch(r"#[^\n]*\n@?[A-Za-z0-9_.$-]+ - memlock unlimited\n", written)


def test_files_of_the_environment(texts: dict[str, str], tmp_path: Path) -> None:
    taken = {f"X_{number}": text for number, text in enumerate(texts.values()) if accepted_value(text)}
    assert len(taken) > 60
    report = DetectedNode("node0", library=Library("nccl", (2, 27, 7)), environment=[])
    variables = [Variable(name, text, "cluster", text) for name, text in taken.items()]
    file = tmp_path / "nccl.sh"
    file.write_text(detect_files.shell(dataclasses.replace(report, environment=variables)))
    done = subprocess.run(["sh", "-euc", '. "$1"; env -0', "sh", str(file)], capture_output=True, check=True, env={})
    read = dict(entry.decode().split("=", 1) for entry in done.stdout.split(b"\0") if entry)
    assert {name: read.get(name) for name in taken} == taken
    for number, text in enumerate(taken.values()):
        for kind, write in detect_files.WRITERS.items():
            one = dataclasses.replace(report, environment=[Variable(f"NCCL_{number}", text, "cluster", text)])
            file_text, refused = attempt(write, one)
            if refused is not None:
                assert f"NCCL_{number}" in refused
                continue
            lines = file_text.split("\n")
            assignments = [line for line in lines if line and not line.startswith("#")]
            assert len(assignments) == 1, assignments
            assert kind == "shell" or assignments[0] == f"NCCL_{number}={text}"


def accepted_value(text: str) -> bool:
    # An environment of 128 KiB and more is for no shell.
    return len(text) < 10_000 and ask("launch", {"env": {"X": text}})[0] is not None


def conditions() -> list[str]:
    """Return the assertions of the role code about what git is given."""
    tasks = yaml.safe_load((ROOT / "roles" / "code" / "tasks" / "git.yml").read_text())
    assertions = [task["ansible.builtin.assert"]["that"] for task in tasks if "ansible.builtin.assert" in task]
    those = [
        [condition] if isinstance(condition, str) else condition
        for condition in assertions
        if "code_git" in str(condition)
    ]
    return [condition for some in those for condition in some]


def test_git_is_given_no_option_and_no_command(texts: dict[str, str]) -> None:
    role_variables = yaml.safe_load((ROOT / "roles" / "code" / "vars" / "main.yml").read_text())
    role_variables = {"code__word": role_variables["code__word"]}
    asserted = conditions()
    assert asserted
    for text in texts.values():
        for name in ("code_git_repo", "code_git_ref"):
            variables = {**role_variables, "code_git_repo": "https://git/x", "code_git_ref": "main", name: text}
            templar = Templar(loader=DataLoader(), variables=variables)
            passes = all(templar.evaluate_conditional(trust_as_template(condition)) for condition in asserted)
            if passes and name == "code_git_ref" and len(text) < 100_000:
                command = ["git", "check-ref-format", "--allow-onelevel", text]
                passes = subprocess.run(command, check=False).returncode == 0
            if passes:
                assert text.isprintable()
                assert not text.startswith("-")
                assert " " not in text
                assert "::" not in text
                if name == "code_git_ref":
                    assert not set(text) & set("~^:?*[\\")
                    assert ".." not in text


# What hosts say


def hostile_run(text: str) -> dict[str, Any]:
    """Return a run as a host could tell of it, with the text wherever a text can be."""
    failure = {"rank": 0, "exit_code": 1, "signal": text, "message": text, "traceback": [text], "time": 1, "node": text}
    return {
        "run_id": RUN_ID,
        "run_dir": text,
        "node": text,
        "node_rank": 0,
        "phase": "failed",
        "why": text,
        "alive": False,
        "left": 0,
        "nproc": 1,
        "first_rank": 0,
        "world_size": 1,
        "label": text,
        "created": text,
        "started": "2026-11-20T14:30:52Z",
        "ended": "2026-11-20T14:30:53Z",
        "first": failure,
        "failures": [failure],
        "log_tail": [text],
        "starter": text,
        "progress": {"step": 1, "total_steps": text, "loss": text},
        "elapsed_s": 1.0,
        "heartbeat_age_s": 1.0,
        "log_dropped": 0,
    }


def test_what_a_host_says_is_only_printed(texts: dict[str, str]) -> None:
    for text in filter(None, texts.values()):
        told_of = hostile_run(text)
        record = RunRecord.from_dict(told_of)
        log = [{"time": text, "node": text, "rank": 0, "text": text}]
        infos = read_infos([("node0", {"run": told_of, "log": log}), ("node1", {"unreachable": True, "msg": text})])
        verdict = judge([record])
        request_ = {"call": text, "experiments": "/x", "run_id": RUN_ID}
        lines = [
            *status_table([info.run for info in infos], 160),
            report_summary(RUN_ID, verdict, [record]),
            *explanation(verdict),
            *log_lines(infos, 50),
            *unanswered(infos),
            *not_started(infos, text)[1],
            *experiment.list_table(
                [
                    experiment.summarize(
                        RUN_ID, yaml.safe_dump(experiment.record(RUN_ID, None, request_, [record], verdict))
                    )
                ],
                160,
            ),
        ]
        assert [line for line in lines if not line.isprintable()] == []
        state = {"phase": "waiting", "why": text, "gang": None, "started": text}
        sample = progress.read_sample(json.dumps(state), "")
        assert sample is not None
        assert progress.status_text(sample).isprintable()
        result = finding.Finding(text, text, "fail", text, text, text, text)
        assert finding.line(result).isprintable()


def test_a_file_of_a_run_keeps_to_its_place(texts: dict[str, str], tmp_path: Path) -> None:
    """What a node names as its file never leads out of the experiment."""
    for text in texts.values():
        for path in (text, f"logs/{text}", f"outputs/{text}", f"logs/rank_0{text}.log"):
            below = target(path, 0, range(2))
            assert below is None or (tmp_path / below).resolve().is_relative_to(tmp_path), below
