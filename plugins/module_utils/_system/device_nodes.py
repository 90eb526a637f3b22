# SPDX-License-Identifier: GPL-3.0-or-later
"""Device nodes of GPUs and RDMA adapters, and who may use them, by mode and owner.

Nothing is opened, because that wakes a GPU, and opening an issm makes the node a subnet manager.
"""

from __future__ import annotations

import os
import re

from .._host.host import Host
from .._records.health import DeviceFile
from .._text.order import natural

FOLDERS = {
    "/dev": re.compile("nvidia.*|kfd"),
    "/dev/dri": re.compile("renderD[0-9]+"),
    "/dev/infiniband": re.compile(".*"),
}


def read_devices(host: Host) -> list[DeviceFile]:
    """Return the device nodes, in natural order in each folder."""
    files = []
    for folder, pattern in FOLDERS.items():
        for name in sorted(host.list_dir(folder) or [], key=natural):
            path = f"{folder}/{name}"
            if pattern.fullmatch(name) and not host.is_dir(path):
                files.append(_device(host, path))
    return files


def _device(host: Host, path: str) -> DeviceFile:
    owner = host.owner(path)
    if owner is None:  # a dangling link
        return DeviceFile(path)
    return DeviceFile(
        path=path,
        mode=f"{owner.mode:04o}",
        uid=owner.uid,
        gid=owner.gid,
        readable=host.allows(path, os.R_OK),
        writable=host.allows(path, os.W_OK),
    )
