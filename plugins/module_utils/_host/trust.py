# SPDX-License-Identifier: GPL-3.0-or-later
"""Who could replace a part of a path: only root and this user may, as with StrictModes of sshd (safe_path, misc.c)."""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import stat
import tempfile

from .._records.path_part import PathPart
from .host import Host
from .paths import DIRECTORY

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def trusted_users() -> set[int]:
    """Return root, this user and, for root by sudo, the user who became root."""
    users = {0, os.geteuid()}
    if os.geteuid() == 0 and os.environ.get("SUDO_UID", "").isdigit():
        users.add(int(os.environ["SUDO_UID"]))
    return users


def untrusted_part(host: Host, path: str) -> PathPart | None:
    """Return the first directory on the way to a resolved path that another user could change; None: there is none."""
    names = [name for name in path.split("/") if name]
    for count in range(len(names) + 1):
        part = "/" + "/".join(names[:count])
        owner = host.owner(part)
        if owner is None:
            return None  # from here on it does not exist
        if not _is_trusted(host.here(part), owner.mode, owner.uid, owner.gid):
            return PathPart(part, owner.uid, owner.mode)
    return None


def make_trusted(path: str) -> PathPart | None:
    """Make a directory and its parents, never through a link; return the first part that another user could change.

    Nothing is made below such a part. Raises OSError.
    """
    folder = os.open("/", DIRECTORY)
    done = ""
    try:
        for name in path.strip("/").split("/"):
            done += "/" + name
            try:
                below = _open_or_make(name, folder)
            except OSError as error:
                raise OSError(error.errno, error.strerror, done) from error
            os.close(folder)
            folder = below
            status = os.fstat(folder)
            if not _is_trusted(folder, stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid):
                return PathPart(done, status.st_uid, stat.S_IMODE(status.st_mode))
    finally:
        os.close(folder)
    return None


def owners_below(workdir: str) -> set[int]:
    """Return the owners that a directory made by this user below a work directory may have. Raises OSError.

    A shared file system may map owners, as NFS with all_squash and CIFS do; a new file shows the owner that it maps to.
    For root these are all trusted users.
    """
    if os.geteuid() == 0:
        return trusted_users()
    if os.stat(workdir).st_uid == os.geteuid():
        return {os.geteuid()}
    with tempfile.TemporaryFile(dir=workdir) as file:
        return {os.geteuid(), os.fstat(file.fileno()).st_uid}


def open_private(path: str, owners: set[int]) -> int:
    """Open a directory that is this user's alone; whatever its path names later, it stays this one. Raises OSError.

    For a user, a mode that cannot be changed is accepted: shared file systems may map modes.
    """
    folder, is_open = os.open(path, DIRECTORY), False
    if os.geteuid() == 0:
        is_open = bool(os.fstat(folder).st_mode & (stat.S_IRWXG | stat.S_IRWXO))
    else:
        with contextlib.suppress(OSError):
            os.fchmod(folder, stat.S_IRWXU)
    if is_open or os.fstat(folder).st_uid not in owners:
        os.close(folder)
        raise PermissionError(1, "it belongs to another user, or is open to others", path)
    return folder


def _open_or_make(name: str, folder: int) -> int:
    try:
        return os.open(name, DIRECTORY, dir_fd=folder)
    except FileNotFoundError:
        with contextlib.suppress(FileExistsError):  # a node that shares this file system has made it meanwhile
            os.mkdir(name, 0o755, dir_fd=folder)
        return os.open(name, DIRECTORY, dir_fd=folder)


def _is_trusted(place: str | int, mode: int, uid: int, gid: int) -> bool:
    """Return whether no other user can rename what is in a directory; of a sticky one only the owner can."""
    if uid not in trusted_users():
        return False
    writers = mode & OTHERS_WRITE
    if not writers or mode & stat.S_ISVTX:
        return True
    return writers == stat.S_IWGRP and not _has_acl(place) and _is_private(gid, uid)


def _has_acl(place: str | int) -> bool:
    """Return whether a directory (path or descriptor) has an ACL, whose mask its mode shows as the group's bits."""
    try:
        return bool(os.getxattr(place, "system.posix_acl_access"))
    except OSError:  # it has none, or its file system knows none
        return False


def _is_private(gid: int, uid: int) -> bool:
    """Return whether a group is its owner's alone, as most distributions make one for each user."""
    try:
        group, owner = grp.getgrgid(gid), pwd.getpwuid(uid).pw_name
    except KeyError:
        return False
    members = {*group.gr_mem, *(user.pw_name for user in pwd.getpwall() if user.pw_gid == gid)}
    return group.gr_name == owner and members <= {owner}
