# SPDX-License-Identifier: GPL-3.0-or-later
"""The archive of the files that a node lacks."""

from __future__ import annotations

import contextlib
import os
import tarfile
import tempfile
from collections.abc import Iterable, Iterator

from ansible import constants

from .._findings.errors import UserError

# Of code this makes a third, faster than a network takes the rest.
COMPRESSION = 1


@contextlib.contextmanager
def code_archive(src: str, names: Iterable[str]) -> Iterator[str]:
    """Yield the path of an archive of these files below a directory; raise UserError for one that cannot be read."""
    with tempfile.NamedTemporaryFile(dir=str(vars(constants)["DEFAULT_LOCAL_TMP"]), suffix=".tar.gz") as stream:
        with tarfile.open(
            fileobj=stream, mode="w:gz", compresslevel=COMPRESSION, encoding="utf-8", errors="surrogateescape"
        ) as archive:
            for name in names:
                try:
                    _add(archive, f"{src}/{name}", name)
                except OSError as error:
                    raise UserError(
                        f"code_rsync_path: {src}/{name} could not be read, or was changed meanwhile "
                        f"({error.strerror or error}); run the command again, or exclude it with code_rsync_excludes"
                    ) from None
        stream.flush()
        yield stream.name


def _add(archive: tarfile.TarFile, path: str, name: str) -> None:
    """Add a file, link or directory. Raises OSError, also for a file that is written to meanwhile."""
    member = archive.gettarinfo(path, name)
    if not (member.isreg() or member.islnk()):
        archive.addfile(member)
        return
    with open(path, "rb") as content:
        before = os.fstat(content.fileno())
        # Also for a second name of a file, which would be a reference to the first.
        member.type, member.size, member.mtime = tarfile.REGTYPE, before.st_size, before.st_mtime
        archive.addfile(member, content)
        after = os.fstat(content.fileno())
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise OSError("its size or time is another than before")
