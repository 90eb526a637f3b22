# SPDX-License-Identifier: GPL-3.0-or-later
"""Apptainer on a node: its image, what may be bound into it, and what a program in it sees.

A program is started in the image, as only that shows whether the kernel lets this user do it: by namespaces, by FUSE or
as root. It is the interpreter of the ranks, and reads the versions of its packages, without importing them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from .._host.budget import Budget
from .._host.command import CommandResult
from .._host.host import Host
from .._records.known import as_dict, parse_json
from .._records.system import Apptainer
from .._system.inherited import LIBRARIES, parse_conf, select
from .._text.binds import as_bind, source_of
from .._text.printable import clean

# Below the time of all commands (BUDGET_S): an image on a file server is read for the first time.
CAP_S, VERSION_S = 7.0, 2.0
# Bound where a node has them, beside what the policy names.
CONFIGURATIONS = tuple(f"/etc/{library}.conf" for library in LIBRARIES)
USER_NAMESPACES = "/proc/sys/user/max_user_namespaces"
MAY_CREATE = "/proc/sys/kernel/unprivileged_userns_clone"
FUSE = "/dev/fuse"
# github.com/apptainer/sif, pkg/sif/sif.go: the beginning of an image has these, and behind them the ID of its build.
MAGIC, MAGIC_AT, ID_AT, ID_BYTES = b"SIF_MAGIC", 32, 48, 16
# The shell's exit code for a command that does not exist; Apptainer's own failures are 255.
NOT_FOUND = 127
FIND = f'command -v "$1" >/dev/null || exit {NOT_FOUND}; exec "$@"'
PROBE = """\
import json, os, platform
try:
    from importlib import metadata
    names = {(d.metadata["Name"] or "").lower(): d.version for d in metadata.distributions()}
except ImportError:
    names = {}
nccl = next((v for n, v in sorted(names.items()) if n.startswith("nvidia-nccl-")), os.environ.get("NCCL_VERSION"))
facts = {"python": platform.python_version(), "torch": names.get("torch"), "nccl": nccl}
print(json.dumps({**facts, "variables": dict(os.environ), "infiniband": os.path.isdir("/dev/infiniband")}))
"""


def read_apptainer(
    host: Host,
    command: Sequence[str],
    options: Sequence[str],
    image: str,
    python: str,
    code_dir: str,
    binds: Sequence[str],
    directories: Sequence[str] = (),
) -> Apptainer:
    """Return the facts; options and binds are those of the ranks, as Apptainer takes them; directories are a run's."""
    path = host.expand(image)
    resolved = {directory: host.resolve(directory) for directory in directories}
    present = {source: host.exists(source) for source in _sources(host, binds)}
    budget = Budget(host)
    version = _version(budget.run([*command, "--version"], VERSION_S))
    exists = host.exists(path)
    answer, has_python, why = {}, None, None
    if version is not None and exists:
        given = [bind for bind in binds if present[source_of(bind)]]
        given += [as_bind(code_dir)] if host.is_dir(code_dir) else []
        words = [word for bind in given for word in ("--bind", bind)]
        inside = ["/bin/sh", "-c", FIND, "muster", python, "-c", PROBE]
        argv = [*command, "--quiet", "exec", "--cleanenv", *options, *words, path, *inside]
        result = budget.run(argv, CAP_S, code_dir if host.is_dir(code_dir) else None)
        answer = as_dict(parse_json(result.out.strip().rpartition("\n")[2])) if result.rc == 0 else {}
        has_python = bool(answer) if answer or result.rc == NOT_FOUND else None
        why = None if has_python is not None else _why(result)
    return Apptainer(
        image=path,
        exists=exists,
        version=version,
        identity=parse_identity(host.read_bytes(path, ID_AT + ID_BYTES) if host.is_file(path) else None),
        has_python=has_python,
        why=why,
        infiniband=bool(answer.get("infiniband")) if answer else None,
        variables=select((str(name), str(value)) for name, value in as_dict(answer.get("variables")).items()),
        binds=present,
        links={directory: real for directory, real in resolved.items() if real and real != os.path.normpath(directory)},
        fuse=host.opens(FUSE),
        user_namespaces=_may_create(host),
        **{name: _text(answer.get(name)) for name in ("python", "torch", "nccl")},
    )


def parse_identity(data: bytes | None) -> str | None:
    """Return the ID of a SIF's build, None for what is not a SIF."""
    if data is None or data[MAGIC_AT:].find(MAGIC) != 0 or len(data) < ID_AT + ID_BYTES:
        return None
    return data[ID_AT : ID_AT + ID_BYTES].hex()


def _sources(host: Host, binds: Sequence[str]) -> list[str]:
    """Return what is bound where it exists, and what the policy wants bound in any case."""
    files = [parse_conf(host.read_text(path) or "").get("NCCL_TOPO_FILE", "") for path in CONFIGURATIONS]
    topologies = [path for path in files if path.startswith("/")]
    present = [path for path in CONFIGURATIONS if host.exists(path)]
    return list(dict.fromkeys([*map(source_of, binds), *present, *topologies]))


def _may_create(host: Host) -> bool | None:
    """Return whether the kernel's settings let users create user namespaces."""
    most = (host.read_text(USER_NAMESPACES, 64) or "").strip()
    allowed = (host.read_text(MAY_CREATE, 64) or "1").strip() != "0"
    return int(most) > 0 and allowed if most.isdecimal() else None


def _why(result: CommandResult) -> str:
    return clean(result.why(CAP_S).removeprefix("FATAL:").strip())


def _version(result: CommandResult) -> str | None:
    """Return the last word of `apptainer version 1.4.5`, None where the command does not answer."""
    words = clean(result.out).split()
    return words[-1] if result.rc == 0 and words else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
