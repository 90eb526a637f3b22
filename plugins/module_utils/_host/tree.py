# SPDX-License-Identifier: GPL-3.0-or-later
"""A directory tree: listed without following links, and changed so that no reader sees half a file."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from typing import IO, Callable, NamedTuple

from .._records.file_tree import FILE, FOLDER, LINK, OTHER, TreeEntry
from .paths import Rooted

# A copied directory can be written by its owner, even if the original cannot.
OWNER = 0o700


class ListedTree(NamedTuple):
    """The entries of a tree, files without their digests.

    kept: directories that hold something else, excluded or unreadable. unreadable: the reason for each of the latter.
    """

    entries: dict[str, TreeEntry]
    kept: set[str]
    unreadable: dict[str, str]


def list_tree(host: Rooted, top: str, excluded: Callable[[str, bool], bool]) -> ListedTree:
    """List what is below a directory; excluded takes a path below it, and whether it is a directory."""
    base = host.here(top)
    listed = ListedTree({}, set(), {})
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(f"{base}/{folder}") as names:
                children = list(names)
        except OSError as error:
            listed.unreadable[folder] = error.strerror or str(error)
            listed.kept.update(_parents(f"{folder}/"))
            continue
        for name in children:
            path = f"{folder}/{name.name}" if folder else name.name
            if excluded(path, name.is_dir(follow_symlinks=False)):
                listed.kept.update(_parents(path))
                continue
            try:
                entry = _entry(name)
            except FileNotFoundError:  # gone meanwhile
                continue
            except OSError as error:  # in a directory that this user may list, but not enter
                listed.unreadable[path] = error.strerror or str(error)
                listed.kept.update(_parents(path))
                continue
            listed.entries[path] = entry
            if entry.kind == FOLDER:
                pending.append(path)
    return listed


def _parents(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _entry(name: os.DirEntry[str]) -> TreeEntry:
    status = name.stat(follow_symlinks=False)
    if stat.S_ISREG(status.st_mode):
        return TreeEntry(FILE, status.st_size, bool(status.st_mode & stat.S_IXUSR))
    if stat.S_ISLNK(status.st_mode):
        return TreeEntry(LINK, content=os.readlink(name.path))
    return TreeEntry(FOLDER if stat.S_ISDIR(status.st_mode) else OTHER)


def remove_paths(host: Rooted, top: str, paths: Iterable[str]) -> None:
    """Remove what is below a directory; a directory must be empty by then. Raises OSError."""
    for path in sorted(paths, reverse=True):  # what is in a directory before the directory
        place = f"{host.here(top)}/{path}"
        with contextlib.suppress(FileNotFoundError):  # gone meanwhile
            if os.path.isdir(place) and not os.path.islink(place):
                os.rmdir(place)
            else:
                os.unlink(place)


def extract_archive(host: Rooted, top: str, archive: str | bytes) -> None:
    """Write the members of a tar archive, a file or its content, below a directory. Raises OSError."""
    import io
    import tarfile

    base = host.here(top)
    os.makedirs(base, exist_ok=True)
    source = {"fileobj": io.BytesIO(archive)} if isinstance(archive, bytes) else {"name": host.here(archive)}
    with tarfile.open(**source, encoding="utf-8") as members:
        for member in members:
            place = f"{base}/{member.name}"
            is_folder = os.path.isdir(place) and not os.path.islink(place)
            if member.isdir():
                if not is_folder:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(place)
                    os.mkdir(place, member.mode & 0o777 | OWNER)
                continue
            if is_folder:
                os.rmdir(place)
            with _replacement(place) as new:
                if member.issym():
                    os.symlink(member.linkname, new)
                    continue
                content = members.extractfile(member)
                if content is not None:
                    _write(new, content, member.mode & 0o777)
                    os.utime(new, (member.mtime, member.mtime))


@contextlib.contextmanager
def _replacement(place: str) -> Iterator[str]:
    """Yield the name of what takes the place of a file at once."""
    new = f"{os.path.dirname(place)}/.muster-{os.urandom(8).hex()}.new"
    try:
        yield new
        os.replace(new, place)
    except OSError as error:
        error.filename = place  # a write that fails names none
        raise
    finally:
        with contextlib.suppress(OSError):
            os.unlink(new)


def _write(path: str, content: IO[bytes], mode: int) -> None:
    # No other user may read a private file, not even while it is written.
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as stream:
        while block := content.read(1024 * 1024):
            stream.write(block)
        os.fchmod(stream.fileno(), mode)
