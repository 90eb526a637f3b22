# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the commands that are offered: they must work when they are typed."""

from __future__ import annotations

import shlex

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._request.hints import (
    TITLES,
    call_of,
    command,
    hints,
    options_of,
)
from ansible_collections.muster.train.plugins.plugin_utils._request.verbs import VERBS

RUN_ID = "multinode_42ch_256th_20261120_143052"


@pytest.mark.parametrize(
    ("typed", "options"),
    [
        (None, ""),
        ("ansible-playbook launch.yml -e channels=42", ""),
        ("ansible-playbook -i inventories/lab launch.yml", "-i inventories/lab "),
        ("THREADS=256 LABEL='-i x' ansible-playbook -i inventories/lab launch.yml", "-i inventories/lab "),
        ("ansible-playbook -i a --inventory b launch.yml --inventory=c -id", "-i a -i b -i c -i d "),
        ("ansible-playbook -i 'two words' launch.yml", "-i 'two words' "),
        ("ansible-playbook launch.yml -i", ""),
        ("ansible-playbook -bKvu ann -i a launch.yml", "-i a -u ann -b -K "),
        ("ansible-playbook -i a --become --user=ann launch.yml -J --forks 9", "-i a -u ann -f 9 -b -J "),
        (
            "ansible-playbook --key-file /k --vault-id a@p --vault-id b@prompt launch.yml",
            "--private-key=/k --vault-id=a@p --vault-id=b@prompt ",
        ),
        ("ansible-playbook -vC -i a launch.yml", "-i a "),
        ("ansible-playbook -bKC -i a launch.yml", "-i a -b -K "),
        ("ansible-playbook -CKD -i a launch.yml", "-i a -K "),
        ("ansible-playbook -i a --ask-become --us ann launch.yml", "-i a -u ann -K "),
        ("ansible-playbook --ssh-extra-args='-o X=1' launch.yml", "'--ssh-extra-args=-o X=1' "),
        ('ansible-playbook --check -e \'{"a": "-i x"}\' -vvv -i a launch.yml -e -i', ""),
    ],
)
def test_command(typed: str | None, options: str) -> None:
    how = call_of(options_of(shlex.split(typed or "")), {})
    assert command("stop", RUN_ID, how) == f"ansible-playbook {options}muster.train.stop -e run_id={RUN_ID}"


def test_a_command_for_another_inventory_carries_the_login_only() -> None:
    typed = "ansible-playbook -i a -u ann --inventory=b discover.yml"
    assert options_of(shlex.split(typed), ["launch_slot=x"], inventories=False) == ["-u", "ann", "-e", "launch_slot=x"]


def test_command_without_a_run() -> None:
    assert command("launch", None, None) == "ansible-playbook muster.train.launch"


def test_command_where_the_collection_is_not_found_by_its_name() -> None:
    """An assignment is one only where its name is not quoted."""
    assert call_of([], {"ANSIBLE_COLLECTIONS_PATH": "/a b/c"}) == "ANSIBLE_COLLECTIONS_PATH='/a b/c' ansible-playbook"


def test_a_shell_gets_every_word_of_a_command_quoted() -> None:
    typed = shlex.join(["ansible-playbook", "-i", "$(id);`id`", "launch.yml"])
    assert shlex.split(command("stop", "a; id", call_of(options_of(shlex.split(typed)), {"A": "/x; id:/y"}))) == [
        "A=/x; id:/y",
        "ansible-playbook",
        "-i",
        "$(id);`id`",
        "muster.train.stop",
        "-e",
        "run_id=a; id",
    ]


def test_hints() -> None:
    assert hints(RUN_ID, None, ("follow", "stop")) == [
        ("follow again", f"ansible-playbook muster.train.follow -e run_id={RUN_ID}"),
        ("stop", f"ansible-playbook muster.train.stop -e run_id={RUN_ID}"),
    ]


@pytest.mark.parametrize("verb", TITLES)
def test_every_verb_that_is_offered_takes_a_run_id(verb: str) -> None:
    assert "run_id" in {parameter.name for parameter in VERBS[verb]}
