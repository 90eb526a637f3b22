# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of remedies have the options of the command that they answer."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.plugin_utils._findings.invocation import Invocation
from ansible_collections.muster.train.plugins.plugin_utils._findings.remedy import Option, playbook, sentence

TYPED = Invocation("ansible-playbook -i lab -K", ("-i", "lab", "-K"))


def test_a_playbook_is_called_as_the_user_called_the_last_one() -> None:
    assert TYPED.playbook("setup", "--tags", "code") == "ansible-playbook -i lab -K muster.train.setup --tags code"
    assert Invocation().playbook("setup") == "ansible-playbook muster.train.setup"


def test_a_command_on_the_nodes_has_the_options_and_leaves_the_nodes_open() -> None:
    remedy = TYPED.on_nodes(("git", "status"))
    words = "-i lab -K -m ansible.builtin.command -a 'git status'"
    assert remedy.text({Option.NODES: "gpu1"}) == f"ansible gpu1 {words}"


def test_a_remedy_written_in_advance_gets_the_call() -> None:
    remedy = sentence("pull it: ", playbook("setup", "-e", "a=b c"), "; or not")
    assert str(TYPED.fill(remedy)) == "pull it: ansible-playbook -i lab -K muster.train.setup -e 'a=b c'; or not"
    assert str(remedy) == "pull it: ansible-playbook muster.train.setup -e 'a=b c'; or not"
    assert TYPED.fill("replace it") == "replace it"


def test_a_request_without_a_call_is_answered_by_the_plain_name() -> None:
    assert Invocation.of({}) == Invocation()
    assert Invocation.of({"call": "ansible-playbook -K", "options": ["-K"]}) == Invocation(
        "ansible-playbook -K", ("-K",)
    )
