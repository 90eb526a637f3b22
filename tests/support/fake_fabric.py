# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster of local nodes whose facts of RDMA devices and GPUs are those of a machine of tests/machines.

Only what the facts are read from is another machine's: launches, runners and ranks are real.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ansible_collections.muster.train.tests.support.cluster import Cluster
from ansible_collections.muster.train.tests.support.machines import load

# Before any other import of the module: its readers of devices see the tree of the other machine.
SITE = """
import importlib.util, sys

NAME = "ansible_collections.muster.train.plugins.module_utils._facts.gather"


class Finder:
    def find_spec(self, name, path=None, target=None):
        if name != NAME:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            if module.__name__ != NAME:  # an archive has one loader for all
                return
            other = module.Host({root!r})
            for reader in ("read_rdma", "read_gpu"):
                setattr(module, reader, lambda _host, warn, read=getattr(module, reader): read(other, warn))

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Finder())
"""


def give_devices(cluster: Cluster, home: Path, name: str = "dgx_h100_ib") -> None:
    """Let the nodes of a cluster have the devices of a machine, as far as their facts tell."""
    root = load(name, home / "machine").root
    site = home / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(SITE.replace("{root!r}", repr(str(root))))
    interpreter = home / "python"
    interpreter.write_text(f'#!/bin/sh\nPYTHONPATH={site} exec {sys.executable} "$@"\n')
    interpreter.chmod(0o755)
    cluster.policy["ansible_python_interpreter"] = str(interpreter)
    cluster.ignore_machine()
