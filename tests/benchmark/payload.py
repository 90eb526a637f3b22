# SPDX-License-Identifier: GPL-3.0-or-later
"""What Ansible sends to a node for each module of the collection.

usage: python tests/benchmark/payload.py [--files] [MODULE …]

Prints the bytes of the archive that Ansible builds of each module and of what it imports, compressed as by default;
then those of the runner that a start sends as an option. --files adds the files of this collection in each archive,
largest first, each with its compressed size.
"""

from __future__ import annotations

import argparse
import base64
import io
import re
import zipfile
import zlib
from pathlib import Path

from ansible.executor.module_common import modify_module
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader
from ansible.template import Templar

COLLECTIONS = Path(__file__).resolve().parents[2] / "collections"
PLUGINS = COLLECTIONS / "ansible_collections" / "muster" / "train" / "plugins"
ARCHIVE = re.compile(rb"[A-Za-z0-9+/]{10000,}=*")


def build(name: str) -> bytes | None:
    """Return the archive of a module, None for documentation of an action, which no node gets."""
    variables = {"ansible_python_interpreter": "/usr/bin/python3"}
    module = modify_module(
        module_name=f"muster.train.{name}",
        module_path=str(PLUGINS / "modules" / f"{name}.py"),
        module_args={},
        templar=Templar(DataLoader(), variables=variables),
        task_vars=variables,
        module_compression="ZIP_DEFLATED",
    )
    packed = ARCHIVE.search(module.b_module_data)
    return None if packed is None else base64.b64decode(packed.group())


def list_files(archive: bytes) -> list[tuple[int, str]]:
    """Return the compressed size and the path of each file of this collection, largest first."""
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        sizes = [(item.compress_size, item.filename.partition("/train/plugins/")[2]) for item in files.infolist()]
    return sorted((size, name) for size, name in sizes if name)[::-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", action="store_true", help="list the collection's files in each archive")
    parser.add_argument("modules", nargs="*", metavar="MODULE")
    options = parser.parse_args()
    init_plugin_loader([str(COLLECTIONS)])
    # Ansible's loader has to come first.
    from ansible_collections.muster.train.plugins.plugin_utils._plan.bundle import runner_zipapp

    for name in options.modules or sorted(path.stem for path in (PLUGINS / "modules").glob("*.py")):
        archive = build(name)
        if archive is None:
            continue
        print(f"{len(archive):9,}  {name}")
        for size, path in list_files(archive) if options.files else []:
            print(f"{size:17,}  {path}")
    print(f"{len(zlib.compress(runner_zipapp(), 9)):9,}  (the runner)")


if __name__ == "__main__":
    main()
