# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster's policy: the variables launch_*, and those of other roles that affect what a launch would do.

Their defaults are the role's (`roles/launch/defaults`); its argument specification describes them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._text.binds import source_of
from ansible_collections.muster.train.plugins.module_utils._text.stamps import seconds_of

from .._findings.errors import display
from .._findings.finding import Finding
from .._findings.remedy import correct
from .._request.parameters import Parameter, expected, read
from .._request.variable_names import SECRET
from . import starter
from .head_address import is_reachable
from .ports import DEFAULT_RANGE, read_range

DAY = 86400
LEAST_LOST_AFTER_S = 3
# Checkpoints: of any program by the directory's name, of HF, safetensors, PyTorch, Lightning and torch's DCP.
NOT_COLLECTED = ("checkpoints", "checkpoint-*", "*.safetensors", "*.pt", "*.pth", "*.ckpt", "*.distcp")

VARIABLES = (
    Parameter("launch_slot", "label"),
    Parameter("launch_cwd", "choice", choices=("code", "run")),
    Parameter("launch_runtime", "choice", choices=("host", "docker", "apptainer")),
    Parameter("launch_compose_file", "path"),
    Parameter("launch_compose_service", "label"),
    Parameter("launch_docker", "arguments"),
    Parameter("launch_apptainer", "arguments"),
    Parameter("launch_apptainer_options", "arguments"),
    Parameter("launch_binds", "arguments"),
    Parameter("launch_starter", "choice", choices=starter.CHOICES),
    Parameter("launch_stop_grace", "int", minimum=1, maximum=DAY),
    Parameter("launch_abort_grace", "int", minimum=1, maximum=DAY),
    Parameter("launch_traceback_grace", "int", minimum=0, maximum=DAY),
    Parameter("launch_background_wait", "int", minimum=0, maximum=DAY),
    Parameter("launch_join_timeout", "int", minimum=1, maximum=DAY),
    Parameter("launch_lost_after", "int", minimum=0, maximum=DAY),
    Parameter("launch_disk_wait", "int", minimum=1, maximum=DAY),
    Parameter("launch_log_limit_mib", "int", minimum=1, maximum=1 << 20),
    Parameter("launch_slurm_kill_wait", "int", minimum=0, maximum=DAY),
    # The plan does not need these, but a run that was made should be collected.
    Parameter("launch_collect_exclude", "arguments"),
    Parameter("launch_collect_limit_mib", "int", minimum=0, maximum=1 << 20),
)
CHECKPOINT_DIR = Parameter("launch_checkpoint_dir", "path")
SHARED_OUTPUT_DIR = Parameter("launch_shared_output_dir", "path")
IMAGE = Parameter("launch_image", "path")
SLURM_END = "launch_slurm_end"
HEAD_ADDRESS = Parameter("launch_head_address", "node")
NAMES = (
    *(variable.name for variable in VARIABLES),
    *(HEAD_ADDRESS.name, CHECKPOINT_DIR.name, SHARED_OUTPUT_DIR.name, IMAGE.name, SLURM_END),
    *("launch_port_range", "launch_env"),
)
# Variables of other roles, for verbs that show what a launch would do.
OF_LIBRARY = ("nccl_env_library", "nccl_env_version")
OF_ENVIRONMENT = ("launch_env", HEAD_ADDRESS.name, *OF_LIBRARY)
OF_CONTAINER = ("container_image", "container_privileged")


@frozen
class ClusterPolicy:
    """What the cluster's owner decided, read from the head's variables; the defaults are the roles'. Times are seconds.

    library is nccl, rccl or empty, version as in 2.23.4 or empty: if empty, each node's facts decide.
    """

    env: Mapping[str, Any] = field(default_factory=dict)
    head_address: str = ""
    head_address_origin: str = HEAD_ADDRESS.name
    port_range: tuple[int, int] = DEFAULT_RANGE
    slot: str = "default"
    cwd: str = "code"
    runtime: str = "host"
    compose_file: str = "~/muster/container/compose.yaml"
    compose_service: str = "train"
    docker: list[str] = field(default_factory=lambda: ["docker"])
    image: str = ""
    apptainer: list[str] = field(default_factory=lambda: ["apptainer"])
    apptainer_options: list[str] = field(default_factory=list)
    binds: list[str] = field(default_factory=list)
    starter: str = "auto"
    stop_grace: int = 60
    abort_grace: int = 10
    traceback_grace: int = 0
    background_wait: int = 60
    join_timeout: int = 600
    lost_after: int = 5
    disk_wait: int = 300
    checkpoint_dir: str = ""
    shared_output_dir: str = ""
    log_limit_mib: int = 256
    slurm_kill_wait: int = 0
    slurm_end: str = ""
    collect_exclude: list[str] = field(default_factory=lambda: list(NOT_COLLECTED))
    collect_limit_mib: int = 1024
    library: str = ""
    version: str = ""
    container_image: str = ""
    privileged: bool = False

    @classmethod
    def read(cls, variables: Mapping[str, Any]) -> tuple[ClusterPolicy, list[Finding]]:
        """Return the policy, with defaults for what is not set, and a finding for each variable that is not valid."""
        values: dict[str, Any] = {}
        findings = []
        for name, reader, wanted in _READERS:
            if name in variables:
                try:
                    values[name.removeprefix("launch_")] = reader(variables[name])
                except ValueError as error:
                    findings.append(_fault(name, variables[name], wanted or str(error)))
        if 0 < values.get("lost_after", 0) < LEAST_LOST_AFTER_S:
            least = f"0 (never), or at least {LEAST_LOST_AFTER_S}: a busy node may be silent for a moment"
            findings.append(_fault("launch_lost_after", values["lost_after"], least))
        for name, program in (("docker", "Docker"), ("apptainer", "Apptainer")):
            if values.get(name) == []:
                findings.append(_fault(f"launch_{name}", [], f"the command that runs {program}, such as [{name}]"))
        for bind in values.get("binds", []):
            if not source_of(bind).startswith("/"):
                findings.append(_fault("launch_binds", bind, "an absolute path of the node, without ~ or variables"))
        if values.get("runtime") == "apptainer" and not variables.get(IMAGE.name):
            findings.append(_fault(IMAGE.name, "", "the path of an image on every node, for the runtime apptainer"))
        library, version = (str(variables.get(name) or "") for name in OF_LIBRARY)
        image, privileged = (variables.get(name) for name in OF_CONTAINER)
        others: dict[str, Any] = {
            "library": library,
            "version": version,
            "container_image": str(image or ""),
            "privileged": bool(privileged),
        }
        return cls(**values, **others), findings


def _env(raw: object) -> Mapping[str, Any]:
    if not isinstance(raw, Mapping):
        raise ValueError
    return raw


def _address(raw: object) -> str:
    """Return the address or host name unchanged; empty means none."""
    text = "" if raw == "" else str(read(HEAD_ADDRESS, raw))
    if text and not is_reachable(text):
        raise ValueError
    return text


def _absolute(variable: Parameter, raw: object) -> str:
    """Return the path unchanged; a relative one would be another place for each user and program."""
    text = "" if raw == "" else str(read(variable, raw))
    if text and text[0] not in "/~$":
        raise ValueError
    return text


def _stamp(raw: object) -> str:
    if raw != "" and seconds_of(raw) is None:
        raise ValueError
    return str(raw)


_READERS: list[tuple[str, Callable[[Any], Any], str]] = [
    *((variable.name, functools.partial(read, variable), expected(variable)) for variable in VARIABLES),
    (HEAD_ADDRESS.name, _address, "an address or a host name, or nothing"),
    (
        CHECKPOINT_DIR.name,
        lambda raw: "" if raw == "" else read(CHECKPOINT_DIR, raw),
        "a path on the nodes, or nothing",
    ),
    (
        SHARED_OUTPUT_DIR.name,
        functools.partial(_absolute, SHARED_OUTPUT_DIR),
        "an absolute path on the nodes, or nothing",
    ),
    (IMAGE.name, functools.partial(_absolute, IMAGE), "an absolute path on the nodes, or nothing"),
    (SLURM_END, _stamp, "a time in UTC such as 2026-11-20T14:30:52Z, or nothing"),
    ("launch_port_range", lambda raw: read_range(str(raw)), ""),
    ("launch_env", _env, "a mapping of names to values"),
]


def check_alike(policies: Mapping[str, Mapping[str, Any]]) -> list[Finding]:
    """Find policy that differs between nodes: the plan has one policy, that of the first node, the head."""
    findings = []
    head = next(iter(policies), "")
    for node, policy in policies.items():
        for name, raw in policy.items():
            value, head_value = _differing(raw, policies[head].get(name))
            if value == head_value or name == IMAGE.name:  # each node has its own facts of its image
                continue
            aside = ", and put node-specific variables in launch_node_env" if name == "launch_env" else ""
            findings.append(
                Finding(
                    check=name,
                    node=node,
                    status="fail",
                    observed=f"it is {display(_shown(value))} for this node",
                    expected=f"{display(_shown(head_value))} as for the head, {head}",
                    source="variables of the node",
                    remedy=f"put it in group_vars, the same for all{aside}",
                )
            )
    return findings


def _differing(first: Any, second: Any) -> tuple[Any, Any]:
    """Return the parts in which two values differ, (None, None) if they mean the same: numbers may be text."""
    if not (isinstance(first, Mapping) and isinstance(second, Mapping)):
        return (first, second) if str(first) != str(second) else (None, None)
    texts = [{str(name): str(value) for name, value in side.items()} for side in (first, second)]
    differing = sorted(name for name in texts[0].keys() | texts[1].keys() if texts[0].get(name) != texts[1].get(name))
    left, right = ({name: side[name] for name in differing if name in side} for side in texts)
    return left, right


def _shown(value: Any) -> Any:
    """Return the value with an ellipsis for what looks like a secret, which is refused elsewhere."""
    if not isinstance(value, Mapping):
        return value
    return {name: "…" if SECRET.fullmatch(str(name)) else item for name, item in value.items()}


def _fault(name: str, raw: object, wanted: str) -> Finding:
    return Finding(
        check=name,
        node=None,
        status="fail",
        observed="it is not set" if raw is None else f"it is {display(raw)}",
        expected=wanted,
        source="the role muster.train.launch",
        remedy=correct(name) if raw is not None else "use the role, or set it in the inventory",
    )
