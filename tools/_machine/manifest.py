# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine as text: the manifest's format, read and written; README.md beside this file describes it."""

from __future__ import annotations

import dataclasses
import errno
import ipaddress
import posixpath
import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import yaml

KEYS = ("about", "files", "links", "errors", "directories", "addresses", "environment", "commands")
ANSWER_KEYS = ("rc", "stdout", "stderr")
WIDTH = 100
_PLAIN_KEY = re.compile(r"[A-Za-z/][\w./+=,~@-]*(?:[: ][\w./+=,~@-]+)*", re.ASCII)
# Nothing that YAML would break a line at, escape or lose: text that a block may hold as it is.
_BLOCK = re.compile(r"[\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]*")


def shortened(text: str) -> str:
    """Name what is too long to be named whole."""
    return text if len(text) <= WIDTH else f"{text[:WIDTH]}\N{HORIZONTAL ELLIPSIS}"


class ManifestError(Exception):
    """What is wrong with a manifest, in one line."""


@dataclasses.dataclass(frozen=True)
class Answer:
    """What came of a command."""

    rc: int = 0
    stdout: str = ""
    stderr: str = ""


@dataclasses.dataclass
class Manifest:
    """One machine. Paths are the machine's own; errors are names of errno, commands are command lines.

    addresses are the kernel's answer to which interface an IPv4 address is on; None if it cannot be asked. environment
    is that of the login.
    """

    about: str = ""
    files: dict[str, str] = dataclasses.field(default_factory=dict)
    links: dict[str, str] = dataclasses.field(default_factory=dict)
    errors: dict[str, str] = dataclasses.field(default_factory=dict)
    directories: list[str] = dataclasses.field(default_factory=list)
    addresses: dict[str, str] | None = None
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    commands: dict[str, Answer] = dataclasses.field(default_factory=dict)


class _Texts(yaml.constructor.SafeConstructor):
    """YAML in which every plain word is text: 0x10de is what the file says, not 4318."""

    # Only `<<` keeps its meaning.
    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {"<": [("tag:yaml.org,2002:merge", re.compile(r"^(?:<<)$"))]}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Refuse a key that occurs twice: YAML would silently take the last one."""
        keys = set()
        for key, _value in node.value:
            if key.tag != "tag:yaml.org,2002:merge" and isinstance(key, yaml.ScalarNode):
                if key.value in keys:
                    raise yaml.MarkedYAMLError(
                        problem=f"{shortened(key.value)} is there twice", problem_mark=key.start_mark
                    )
                keys.add(key.value)
        return super().construct_mapping(node, deep)


# With libyaml ten times as fast.
_Loader: Any = type("_Loader", (_Texts, getattr(yaml, "CSafeLoader", yaml.SafeLoader)), {})


def read(text: str) -> Manifest:
    """Read a manifest; raises ManifestError."""
    try:
        data = yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ManifestError(f"not YAML: {' '.join(str(error).split())}") from error
    return check(data)


def check(data: Any) -> Manifest:
    """Make a manifest of plain data; raises ManifestError."""
    if not isinstance(data, Mapping):
        raise ManifestError(f"a manifest is a mapping of {', '.join(KEYS)}")
    unknown = [str(key) for key in data if key not in KEYS]
    if unknown:
        raise ManifestError(f"unknown keys {', '.join(unknown)}; a manifest has {', '.join(KEYS)}")
    errors = _texts(data, "errors")
    for path, name in errors.items():
        if not hasattr(errno, name) or not name.startswith("E"):
            raise ManifestError(f"errors: {path}: {name} is not the name of an error, such as EINVAL")
    directories = data.get("directories") or []
    if not isinstance(directories, list):
        raise ManifestError("directories: is not a list of paths")
    commands = _mapping(data, "commands")
    files, links = _texts(data, "files"), _texts(data, "links")
    if both := sorted(files.keys() & links.keys()):
        raise ManifestError(f"{shortened(both[0])} is both a file and a link")
    return Manifest(
        about=_text("about", data.get("about")),
        files=files,
        links=links,
        errors=errors,
        directories=[_path("directories", path) for path in directories],
        addresses=_addresses(data),
        environment={
            str(name): _text(f"environment: {name}", value) for name, value in _mapping(data, "environment").items()
        },
        commands={_text("commands", line): _answer(_text("commands", line), commands[line]) for line in commands},
    )


def _mapping(data: Mapping[str, Any], key: str) -> Mapping[Any, Any]:
    mapping = data.get(key) or {}
    if not isinstance(mapping, Mapping):
        raise ManifestError(f"{key}: is not a mapping")
    return mapping


def _texts(data: Mapping[str, Any], key: str) -> dict[str, str]:
    return {_path(key, path): _text(f"{key}: {path}", text) for path, text in _mapping(data, key).items()}


def _addresses(data: Mapping[str, Any]) -> dict[str, str] | None:
    if data.get("addresses") is None:
        return None
    addresses = {
        str(address): _text(f"addresses: {address}", name) for address, name in _mapping(data, "addresses").items()
    }
    for address in addresses:
        try:
            ipaddress.IPv4Address(address)
        except ValueError:
            raise ManifestError(f"addresses: {shortened(repr(address))} is not an IPv4 address") from None
    return addresses


def _path(key: str, path: Any) -> str:
    if not isinstance(path, str) or not path.startswith("/") or "\0" in path:
        raise ManifestError(f"{key}: {shortened(repr(path))} is not an absolute path")
    return path


def _text(where: str, value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ManifestError(f"{where}: is not text")
    return value


def _answer(line: str, value: Any) -> Answer:
    value = value or {}
    if not isinstance(value, Mapping):
        raise ManifestError(f"commands: {line}: is not a mapping of {', '.join(ANSWER_KEYS)}")
    unknown = [str(key) for key in value if key not in ANSWER_KEYS]
    if unknown:
        raise ManifestError(f"commands: {line}: unknown keys {', '.join(unknown)}; there are {', '.join(ANSWER_KEYS)}")
    try:
        rc = int(value.get("rc") or 0)
    except (TypeError, ValueError) as error:
        raise ManifestError(f"commands: {line}: rc is not a number") from error
    out, err = (_text(f"commands: {line}: {key}", value.get(key)) for key in ("stdout", "stderr"))
    return Answer(rc, out, err)


def dump(manifest: Manifest) -> str:
    """Write a manifest for people: a line a line of a text, short texts beside their path."""
    lines = ["---", f"about: {_quoted(manifest.about)}"]
    for key, entries in (("files", manifest.files), ("links", manifest.links), ("errors", manifest.errors)):
        if entries:
            lines.append(f"{key}:")
            lines += [f"  {_key(path)}: {_scalar(text, 4)}" for path, text in entries.items()]
    if manifest.directories:
        lines += ["directories:", *(f"  - {_key(path)}" for path in manifest.directories)]
    if manifest.addresses is not None:
        lines += ["addresses:" if manifest.addresses else "addresses: {}"]
        lines += [f"  {_quoted(address)}: {_quoted(name)}" for address, name in manifest.addresses.items()]
    if manifest.environment:
        lines.append("environment:")
        lines += [f"  {_key(name)}: {_quoted(value)}" for name, value in manifest.environment.items()]
    if manifest.commands:
        lines.append("commands:")
        for line, answer in manifest.commands.items():
            lines += [f"  {_key(line)}:", f"    rc: {answer.rc}"]
            lines += [f"    stdout: {_scalar(answer.stdout, 6)}", f"    stderr: {_scalar(answer.stderr, 6)}"]
    return "\n".join(lines) + "\n"


def _key(text: str) -> str:
    return text if _PLAIN_KEY.fullmatch(text) else _quoted(text)


def _scalar(text: str, indent: int) -> str:
    """Write a text of several lines as a block, any other in quotes (what a block cannot hold, too)."""
    body = text.rstrip("\n")
    if "\n" not in body or not _BLOCK.fullmatch(text):
        return _quoted(text, indent)
    left = len(text) - len(body)
    # Where the text itself begins with blanks the indentation has to be said.
    width = "2" if body[0] in " \t\n" else ""
    block = textwrap.indent(body + "\n" * max(0, left - 1), " " * indent, lambda line: line != "\n")
    return f"|{width}{('-', '', '+')[min(left, 2)]}\n{block}"


def _quoted(text: str, indent: int | None = None) -> str:
    """Write a text in quotes; with an indent, a long one in several lines, a new one after each NUL."""
    if indent is None or len(text) <= WIDTH:
        return '"' + "".join(map(_escaped, text)) + '"'
    pieces = [
        piece[start : start + WIDTH]
        for piece in re.findall("[^\0]*\0|[^\0]+", text)
        for start in range(0, len(piece), WIDTH)
    ]
    # YAML drops the blanks that a line begins with.
    lines = ["".join(map(_escaped, piece)) for piece in pieces]
    lines = [f"\\x20{line[1:]}" if line.startswith(" ") else line for line in lines]
    return '"' + ("\\\n" + " " * indent).join(lines) + '"'


def _escaped(character: str) -> str:
    known = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\0": "\\0"}
    if character in known:
        return known[character]
    if " " <= character <= "~":
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def parents(paths: Iterable[str]) -> set[str]:
    """Return every directory above the paths."""
    folders: set[str] = set()
    for path in paths:
        while path != "/":
            path = posixpath.dirname(path)
            folders.add(path)
    return folders
