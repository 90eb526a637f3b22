# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees with a mount whose server never answers: a FUSE device from which nothing reads, in a mount namespace."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner import files
from ansible_collections.muster.train.tests.support.pythons import find_python

COLLECTIONS = files.__file__.partition("/ansible_collections/")[0]
# Pythons before 3.11 let a look at a directory's entry keep all threads from running.
PYTHON = find_python("3.9") or sys.executable
PATIENCE_S = 60.0
# How long a call is waited for: one that is expected to hang, and one that is expected to end.
HANGS_S, ENDS_S = 2.0, 30.0
UNSHARE = ["unshare", "--mount", "--propagation", "private"]
# What is called gets two directories: the tree, and the mount. Its thread may hang, and then no other may.
PROGRAM = """
import ctypes, os, sys, threading
from ansible_collections.muster.train.plugins.module_utils.runner import files, ownership

def mount(place):
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0"
    if ctypes.CDLL(None, use_errno=True).mount(b"stalled", place.encode(), b"fuse", 0, options.encode()):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

function, tree, place, patience = sys.argv[1:]
mount(place)
if function == "mount":
    os._exit(0)
thread = threading.Thread(target=lambda: eval(function)(tree), daemon=True)
thread.start()
thread.join(float(patience))
os.write(1, b"it hangs alone" if thread.is_alive() else b"it has ended")
os._exit(0)
"""


def call(function: str, tree: Path, place: Path, patience_s: float = ENDS_S) -> str:
    """Return what became of a call with a tree in which a mount, made for this call, does not answer."""
    place.mkdir(exist_ok=True)
    command = [*UNSHARE, PYTHON, "-c", PROGRAM, function, str(tree), str(place), str(patience_s)]
    environment = {**os.environ, "PYTHONPATH": COLLECTIONS, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, stdout=subprocess.PIPE, env=environment, timeout=PATIENCE_S, check=True)
    return done.stdout.decode()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The mount's place, where this user can make one."""
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse") or shutil.which("unshare") is None:
        pytest.skip("only root can mount a FUSE device, in a namespace that unshare makes")
    try:
        call("mount", tmp_path, tmp_path / "tried")
    except subprocess.CalledProcessError:
        pytest.skip("no FUSE device can be mounted here")
    return tmp_path / "stalled"


def test_files_are_given_back_although_a_link_leads_to_storage_that_hangs(tmp_path: Path, place: Path) -> None:
    tree = tmp_path / "outputs"
    (tree / "below").mkdir(parents=True)
    for name in ("checkpoints", "below/checkpoints"):
        (tree / name).symlink_to(place)
    (tree / "below" / "metrics").touch()
    os.chown(tree, 65534, 65534)
    assert call("ownership.give_back", tree, place) == "it has ended"
    owners = {path.name: path.lstat().st_uid for path in tree.rglob("*")}
    assert owners == {"below": 65534, "checkpoints": 65534, "metrics": 65534}


@pytest.mark.parametrize("function", ["ownership.give_back", "files.remove_tree"])
def test_storage_that_hangs_in_a_tree_stops_no_other_thread(tmp_path: Path, place: Path, function: str) -> None:
    tree = tmp_path / "tree"
    (tree / "below").mkdir(parents=True)
    os.chown(tree, 65534, 65534)
    assert call(function, tree, tree / "below" / "stalled", HANGS_S) == "it hangs alone"
