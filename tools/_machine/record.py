# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine as text, of what the readers look at."""

from __future__ import annotations

import dataclasses
import errno
import os
import posixpath
import re
import secrets
import shlex
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from ansible_collections.muster.train.plugins.module_utils._facts.gather import Gathered, gather
from ansible_collections.muster.train.plugins.module_utils._host.command import CommandResult
from ansible_collections.muster.train.plugins.module_utils._host.live import LiveHost
from ansible_collections.muster.train.plugins.module_utils._net.rules import COMMANDS as IP_RULES
from ansible_collections.muster.train.plugins.module_utils._system.disks import mount_of, parse_mountinfo
from ansible_collections.muster.train.tools._machine.arguments import Parser, complain
from ansible_collections.muster.train.tools._machine.manifest import Answer, Manifest, dump
from ansible_collections.muster.train.tools._machine.replace import Replacements
from ansible_collections.muster.train.tools._machine.sanitize import contents, learn
from ansible_collections.muster.train.tools._machine.show import ASKED

# What is not there needs no line.
ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EISDIR)
# Of folders that list much else, what describes GPUs and adapters.
TOLD = {"/dev": re.compile("nvidia.*|kfd|dri|infiniband|null"), "/proc": re.compile("")}
# Of the packages of a Python, what the library's version is read from; the rest is not recorded.
PACKAGES = ("site-packages", "dist-packages")
OF_PACKAGES = re.compile(r"torch.*|nvidia.*|.*\.(?:pth|egg-link)")
TOLD_ELSEWHERE = re.compile(".*")
# Without the code: branch and file names do not belong to a machine.
RECORDED = dataclasses.replace(ASKED, subset=tuple(name for name in ASKED.subset if name != "code"))


class Recording(LiveHost):
    """A host that notes all that is read of it; mix it into the host to record."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.noted = Manifest()
        self._directories: set[str] = set()
        super().__init__(*arguments, **options)

    def _target(self, path: str) -> str | None:
        target = super()._target(path)
        if target is not None:
            self.noted.links[path[len(self._prefix) :]] = target
        return target

    def _failed(self, path: str, error: OSError) -> None:
        if error.errno is not None and error.errno not in ABSENT:
            self.noted.errors[self.resolve(path) or path] = errno.errorcode.get(error.errno, "EIO")

    def _open(self, path: str) -> BinaryIO:
        try:
            return cast(BinaryIO, _Noting(self, path, super()._open(path)))
        except OSError as error:
            self._failed(path, error)
            raise

    def read_folder(self, path: str, names: Iterable[str], limit: int = 4096) -> dict[str, bytes]:
        asked = list(names)
        files = super().read_folder(path, asked, limit)
        for name, data in files.items():
            self._note(f"{path}/{name}", data)
        for name in asked:
            # Asking again tells why: a link is noted as one, and so is an error.
            if name not in files and self.read_link(f"{path}/{name}") is None:
                self.read_bytes(f"{path}/{name}", limit)
        return files

    def _note(self, path: str, data: bytes) -> None:
        place = self.resolve(path) or path
        text = data.decode("utf-8", "replace")
        if len(text) >= len(self.noted.files.get(place, "")):
            self.noted.files[place] = text

    def list_dir(self, path: str) -> list[str] | None:
        names = super().list_dir(path)
        if names is None:
            if self.is_dir(path):
                self.noted.errors[self.resolve(path) or path] = "EACCES"
            return None
        real = self.resolve(path) or path
        self._directories.add(real)
        pattern = OF_PACKAGES if posixpath.basename(real) in PACKAGES else TOLD.get(real, TOLD_ELSEWHERE)
        for name in names:
            if pattern.fullmatch(name) and self.read_link(f"{real}/{name}") is None:
                self._stat(f"{real}/{name}")
        return names

    def _stat(self, path: str) -> os.stat_result | None:
        status = super()._stat(path)
        real = self.resolve(path)
        if status is not None and real is not None:
            if stat.S_ISDIR(status.st_mode):
                self._directories.add(real)
            else:
                self.noted.files.setdefault(real, "")
        return status

    def run(self, argv: Sequence[str], timeout: float = 5.0, cwd: str | None = None) -> CommandResult:
        result = super().run(argv, timeout, cwd)
        if result.rc is not None:
            self.noted.commands[shlex.join(argv)] = Answer(result.rc, result.out, result.err)
        return result

    def ipv4_interfaces(self) -> dict[str, str] | None:
        self.noted.addresses = super().ipv4_interfaces()
        return self.noted.addresses

    def as_noted(self) -> Manifest:
        """Return what was noted, in the order of the paths."""
        noted = self.noted
        # The PID of this process differs at every run.
        process = noted.links.pop("/proc/self", None)
        if process is not None:
            noted.files, noted.links, noted.errors = (
                {_own(path, process): text for path, text in entries.items()}
                for entries in (noted.files, noted.links, noted.errors)
            )
            self._directories = {_own(path, process) for path in self._directories}
        noted.files = {path: text for path, text in sorted(noted.files.items()) if path not in noted.errors}
        above = {parent for path in [*noted.files, *noted.links, *noted.errors] for parent in _above(path)}
        noted.directories = sorted(self._directories - above - {"/"})
        noted.directories = [
            path for path in noted.directories if not any(path in _above(other) for other in noted.directories)
        ]
        noted.links, noted.errors = dict(sorted(noted.links.items())), dict(sorted(noted.errors.items()))
        return noted


class _Noting:
    """An open file whose contents are noted as they are read."""

    def __init__(self, host: Recording, path: str, stream: BinaryIO) -> None:
        self._host, self._path, self._stream = host, path, stream
        self._data = bytearray()

    def __enter__(self) -> _Noting:
        return self

    def __exit__(self, *_details: object) -> None:
        self._stream.close()
        self._host._note(self._path, bytes(self._data))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def read(self, size: int = -1) -> bytes:
        try:
            data = self._stream.read(size)
        except OSError as error:
            self._host._failed(self._path, error)
            raise
        self._data += data
        return data


def record(host: Recording, key: bytes) -> tuple[Manifest, Replacements, Gathered]:
    """Read a machine as `machine.py show` does, and return it as text with everything replaced that is only its own."""
    gathered = gather(host, RECORDED)
    noted = host.as_noted()
    replacements = Replacements(key)
    for path, content in noted.files.items():
        learn(path, content, replacements)
    replacements.addresses.update(noted.addresses or ())
    rules = noted.commands.get(shlex.join(IP_RULES[False]), Answer()).stdout
    replacements.addresses.update(re.findall(r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}", rules))
    text = replacements.text
    mounted = _mounted(noted)
    return (
        Manifest(
            about=text(_about(gathered)),
            files={
                text(path): contents(path, content, replacements, mounted)
                for path, content in noted.files.items()
                if not path.startswith("/var/lib/systemd/linger/")
            },
            links={text(path): text(target) for path, target in noted.links.items()},
            errors={text(path): name for path, name in noted.errors.items()},
            directories=[text(path) for path in noted.directories],
            addresses=noted.addresses and {text(address): text(name) for address, name in noted.addresses.items()},
            commands={
                line: Answer(answer.rc, text(answer.stdout), text(answer.stderr))
                for line, answer in noted.commands.items()
            },
        ),
        replacements,
        gathered,
    )


def _mounted(noted: Manifest) -> set[str]:
    """Return the mount points of the directories that are asked about."""
    mounts = [
        mount for path, text in noted.files.items() if path.endswith("/mountinfo") for mount in parse_mountinfo(text)
    ]
    mounts_of_paths = [mount_of(path, mounts) for path in (ASKED.workdir, ASKED.code_dir, "/dev/shm", "/tmp")]
    return {"/", *(mount.point for mount in mounts_of_paths if mount is not None)}


def _own(path: str, process: str) -> str:
    folder = f"/proc/{process}/"
    return f"/proc/self/{path[len(folder) :]}" if path.startswith(folder) else path


def _above(path: str) -> set[str]:
    ancestors = set()
    while path != "/":
        path = posixpath.dirname(path)
        ancestors.add(path)
    return ancestors


def _about(gathered: Gathered) -> str:
    gpu, rdma, kernel = gathered.gpu, gathered.rdma, gathered.node.kernel
    gpus = f"{gpu.count} GPUs ({gpu.vendor or 'none'})" if gpu else "GPUs unknown"
    hcas = f"{len(rdma.hcas)} RDMA devices" if rdma else "RDMA unknown"
    return f"Recorded: {gpus}, {hcas}, Linux {(kernel and kernel.release) or 'unknown'}"


def main(arguments: Sequence[str]) -> int:
    """Write this machine as text to a file or standard output."""
    parser = Parser(
        prog="machine.py record",
        description="Record this machine as text; serial numbers, GUIDs, UUIDs, addresses and names are replaced.",
    )
    parser.add_argument("--output", metavar="FILE", help="write to FILE instead of standard output")
    given = parser.parse_args(arguments)
    manifest, _replacements, gathered = record(Recording(), secrets.token_bytes(16))
    text = dump(manifest)
    if given.output is None:
        print(text, end="")
        return 0
    try:
        Path(given.output).write_text(text, encoding="utf-8")
    except OSError as error:
        return complain(parser.prog, f"{given.output}: {error.strerror}")
    for warning in gathered.warnings:
        print(f"{parser.prog}: {warning}")
    print(f"{parser.prog}: {given.output}: look it through before you send it to anybody")
    return 0
