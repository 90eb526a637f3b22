# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment of a launcher in an image, as a shell reads it."""

from __future__ import annotations

import os
import random
import subprocess

from ansible_collections.muster.train.plugins.module_utils.runner.attempt.image import open_script, render

SHELL = ["/bin/sh", "-c", '. /dev/stdin && exec "$@" </dev/null', "muster", "/usr/bin/env", "-0"]
# What means something to some shell, and what is not text.
PARTS = ["'", '"', "`id`", "$HOME", "${X}", "\\", "\\n", "\n", "\r", " ", "\t", "#", "!", "~", "*", ";&|<>()", "=", "ü"]
PARTS += ["\x01", "\x7f", "\udcff", "-", "%s", "\u202e", "EOF\n", "$(false)"]


def random_value(rng: random.Random) -> str:
    return "".join(rng.choice(PARTS) for _part in range(rng.randint(0, 12)))


def environment_in(script: int, inherited: dict[str, str]) -> dict[str, str]:
    """What a program behind the shell is started with."""
    done = subprocess.run(SHELL, stdin=script, env=inherited, stdout=subprocess.PIPE, check=True)
    return dict(entry.split("=", 1) for entry in os.fsdecode(done.stdout).split("\0") if entry)


def test_a_shell_reads_every_value_as_it_is() -> None:
    rng = random.Random(19)
    wanted = {f"V{number}": random_value(rng) for number in range(2000)}
    script = open_script(wanted)
    try:
        read = environment_in(script, {"V0": "the image's", "OWN": "of the image"})
    finally:
        os.close(script)
    assert {name: read[name] for name in wanted} == wanted
    assert read["OWN"] == "of the image"


def test_the_images_own_part_of_a_path_stays() -> None:
    paths = {"PYTHONPATH": "/run/it's", "LD_LIBRARY_PATH": "/lib"}
    for inherited, expected in (({"PYTHONPATH": "/image"}, ["/run/it's:/image", "/lib"]), ({}, ["/run/it's", "/lib"])):
        script = open_script(paths)
        read = environment_in(script, inherited)
        os.close(script)
        assert [read[name] for name in paths] == expected


def test_no_program_inherits_the_script_by_accident() -> None:
    script = open_script({"TOKEN": "secret"})
    assert (os.get_inheritable(script), os.fstat(script).st_mode & 0o777) == (False, 0o600)
    assert os.readlink(f"/proc/self/fd/{script}").endswith(" (deleted)")
    assert os.read(script, 100) == render({"TOKEN": "secret"}) == b"export TOKEN='secret'\n"
    os.close(script)
