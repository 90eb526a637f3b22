# SPDX-License-Identifier: GPL-3.0-or-later
"""Other users, and nodes that lie, against the verbs as a user types them."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

from ansible.parsing.vault import VaultLib, VaultSecret

from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.unprivileged import NOBODY, needs_root

TOKEN = "hunter2hunter2"


def plant_token(cluster: Cluster) -> tuple[str, str]:
    """Put an encrypted value into every variable that a plan is made of; return the options that decrypt it."""
    encrypted = VaultLib().encrypt(TOKEN, VaultSecret(b"password")).decode()
    block = "!vault |\n" + "".join(f"      {line}\n" for line in encrypted.splitlines())
    variables = cluster.home / "group_vars" / "nodes.yml"
    variables.parent.mkdir()
    variables.write_text(
        f"vault_token: {block}launch_env:\n  ADDRESS: {block}launch_node_env:\n  PLACE: '{{{{ vault_token }}}}'\n"
        f"launch_secrets:\n  HF_TOKEN: {block}"
        "launch_defaults: {script: sleeper.py, launcher: python, script_args: [--token, '{{ vault_token }}']}\n"
    )
    password = cluster.home / "password"
    password.write_text("password")
    return "--vault-password-file", str(password)


def modes_below(top: Path) -> dict[str, int]:
    """Return the modes of the directories and files below a directory, links left out."""
    paths = [top, *(path for path in top.rglob("*") if not path.is_symlink())]
    return {str(path.relative_to(top)): stat.S_IMODE(path.stat().st_mode) for path in paths}


def test_an_encrypted_value_is_refused_where_it_would_be_saved(cluster: Cluster) -> None:
    options = plant_token(cluster)
    played = cluster.launch("--diff", *options)
    assert played.rc != 0
    assert TOKEN not in played.out
    why = "is encrypted by Ansible Vault, but would be saved as plain text in plans and experiments; set secrets in "
    names = ("launch_defaults.script_args", "launch_env.ADDRESS", "launch_node_env.PLACE")
    assert played.messages == [f"{name}: {why}launch_secrets" for name in names]
    assert "Gather facts" not in played.out
    assert not (cluster.home / "work").exists()


def test_experiments_and_runs_are_for_their_owner_alone(cluster: Cluster) -> None:
    before = os.umask(0o022)
    try:
        played = cluster.launch(follow=True, script_args=["--seconds", "0.2"])
    finally:
        os.umask(before)
    assert played.rc == 0, played.out
    home = cluster.experiments / RUN_ID
    assert {"plan.json", "run.yml", "nodes/0/job.json", "nodes/1/state.json"} <= modes_below(home).keys()
    for top in (home, *map(cluster.run_dir, cluster.names)):
        wrong = {name: oct(mode) for name, mode in modes_below(top).items() if mode & 0o077}
        assert not wrong, (top, wrong)
    home.chmod(0o750)  # its owner shares it with a group
    assert cluster.verb("collect", run_id=RUN_ID).rc == 0
    assert stat.S_IMODE(home.stat().st_mode) == 0o750


def pretend_to_be_the_head(cluster: Cluster, node: str) -> None:
    """Let a node say that it has the head's ranks, and hold a plan and a log of its own making for them."""
    run_dir = cluster.run_dir(node)
    state = json.loads((run_dir / "state.json").read_text())
    (run_dir / "state.json").write_text(json.dumps({**state, "node_rank": 0, "first_rank": 0}))
    plan = json.loads(cluster.run_dir("node0").joinpath("plan.json").read_text())
    plan["parameters"]["module"] = {"value": "evil", "origin": "-e module", "layer": "extra_vars"}
    (run_dir / "plan.json").write_text(json.dumps(plan))
    (run_dir / "logs" / "rank_00.log").write_text("2026-11-20T14:30:52Z forged\n")


def test_a_node_that_claims_the_heads_ranks_replaces_nothing(cluster: Cluster) -> None:
    assert cluster.launch(follow=True, script_args=["--seconds", "0.2"]).rc == 0
    home = cluster.experiments / RUN_ID
    plan, log = (home / "plan.json").read_bytes(), (home / "ranks" / "rank_00.log").read_bytes()
    pretend_to_be_the_head(cluster, "node1")
    refused = "node1: it claims rank 0, but the plan gives it rank 1; only files of rank 1 are taken from it"

    again = cluster.verb("collect", run_id=RUN_ID)
    assert refused in " ".join(again.out.split())
    assert ((home / "plan.json").read_bytes(), (home / "ranks" / "rank_00.log").read_bytes()) == (plan, log)

    # A controller that did not launch the run takes the plan of the head, and of no other node.
    shutil.rmtree(cluster.experiments)
    elsewhere = cluster.verb("collect", run_id=RUN_ID)
    assert refused in " ".join(elsewhere.out.split())
    assert (home / "plan.json").read_bytes() == plan
    assert (home / "ranks" / "rank_00.log").read_bytes() == log

    # Without any plan, two that say the same are not believed.
    shutil.rmtree(cluster.experiments)
    (cluster.run_dir("node0") / "plan.json").unlink()
    without = " ".join(cluster.verb("collect", run_id=RUN_ID).out.split())
    assert (
        f"there is no plan of {RUN_ID} in {home}, and none is taken from the nodes: node0: path: plan.json" in without
    )
    assert f"node0 and node1 all say that they have node rank 0 of {RUN_ID}, so no files of ranks are" in without
    assert (home / "run.yml").exists()
    assert not (home / "plan.json").exists()
    assert not (home / "ranks").exists()


@needs_root
def test_root_runs_nothing_from_another_users_directory(cluster: Cluster) -> None:
    squatted = cluster.home / "work"
    squatted.mkdir(mode=0o755)
    os.chown(squatted, NOBODY, NOBODY)
    played = cluster.launch()
    assert played.rc != 0
    [line] = played.messages
    assert line.startswith(
        f"node0 and node1: work directory path: {squatted} belongs to uid {NOBODY} and has mode 0755: "
        "another user could replace what root runs below it, and read launch_secrets; expected owner root"
    )
    assert not list(squatted.iterdir())
