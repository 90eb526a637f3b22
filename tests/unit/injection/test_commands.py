# SPDX-License-Identifier: GPL-3.0-or-later
"""The corpus through the commands and files that are made of a request: the same bytes at the other end."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.module_utils._records.job import Job, Variable
from ansible_collections.muster.train.plugins.module_utils._runs import start
from ansible_collections.muster.train.plugins.module_utils._runs.starters import systemd
from ansible_collections.muster.train.plugins.module_utils._runs.starters.docker import Docker
from ansible_collections.muster.train.plugins.module_utils.runner import files
from ansible_collections.muster.train.plugins.module_utils.runner.environment import environment_of
from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import ClusterPolicy
from ansible_collections.muster.train.plugins.plugin_utils._detect import files as detect_files
from ansible_collections.muster.train.plugins.plugin_utils._detect.detected import DetectedNode
from ansible_collections.muster.train.plugins.plugin_utils._nccl.library import Library
from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.plugins.plugin_utils._plan.text import render as render_text
from ansible_collections.muster.train.plugins.plugin_utils._request import memory_limit
from ansible_collections.muster.train.plugins.plugin_utils._setup import compose, memlock
from ansible_collections.muster.train.tests.support.injection import ask, attempt, escaped, findings_against
from ansible_collections.muster.train.tests.support.plan_parts import facts, node, policy, request

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]


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
        given = escaped(text)
        job = planned(launcher=launcher, script=text, config=f"{text}.yml", script_args=[given], env={"X": given})
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
        command = systemd.SystemdStarter(user=user).command(job, runner)
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
