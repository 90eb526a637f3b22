# SPDX-License-Identifier: GPL-3.0-or-later
"""The image of the lab's pods, made once for a checkout: Debian's Python, and an init; torch is bound into it."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.tests.support import debian_root
from ansible_collections.muster.train.tests.support.play import ROOT

CACHE = ROOT / ".cache" / "k8s"
NAME = "docker.io/muster/node:1"
INCLUDED = "python3,libstdc++6,libgomp1,tini,rsync,procps,iproute2"
# Of the pods' sandboxes; a container of the tests names its own command.
ENTRYPOINT = ["/usr/bin/tini", "--", "/usr/bin/sleep", "infinity"]


def archive() -> Path:
    """Return the image as `docker save` writes one."""
    image = CACHE / "image.tar"
    if not image.is_file():
        CACHE.mkdir(parents=True, exist_ok=True)
        layer, part = CACHE / "layer.tar", CACHE / "image.part"
        debian_root.write_archive(layer, INCLUDED)
        _pack(layer, part)
        layer.unlink()
        part.rename(image)
    return image


def _pack(layer: Path, image: Path) -> None:
    with layer.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": ENTRYPOINT, "Env": [path]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        "history": [{"created_by": "mmdebstrap"}],
    }
    manifest = [{"Config": "config.json", "RepoTags": [NAME.removeprefix("docker.io/")], "Layers": ["layer.tar"]}]
    with tarfile.open(image, "w") as tar:
        tar.add(layer, "layer.tar")
        _add(tar, "config.json", config)
        _add(tar, "manifest.json", manifest)


def _add(tar: tarfile.TarFile, name: str, content: Any) -> None:
    data = json.dumps(content).encode()
    member = tarfile.TarInfo(name)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))
