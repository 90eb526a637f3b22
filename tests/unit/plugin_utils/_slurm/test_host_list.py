# SPDX-License-Identifier: GPL-3.0-or-later
"""Slurm's lists of hosts: what scontrol show hostnames prints of them, and what is refused."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._slurm.host_list import expand_host_list

# As scontrol 22.05 prints them.
LISTS = {
    "n[01-03,7]": "n01 n02 n03 n7",
    "n[8-11]": "n8 n9 n10 n11",
    "r[0-1]n[0-2]": "r0n0 r0n1 r0n2 r1n0 r1n1 r1n2",
    "n[3,1,2]": "n3 n1 n2",
    "gpu[001-003,0005]": "gpu001 gpu002 gpu003 gpu0005",
    "n[00-01,1]": "n00 n01 n1",
    "10.0.0.[1-3]": "10.0.0.1 10.0.0.2 10.0.0.3",
    "x[1-2][3-4]": "x13 x14 x23 x24",
    "n1,n1": "n1 n1",
    "login1,gpu[098-101],a": "login1 gpu098 gpu099 gpu100 gpu101 a",
}
REFUSED = (
    "",
    " ",
    ",",
    "a,",
    ",a",
    "a,,b",
    "n[1-3",
    "n1-3]",
    "n[[1-2]]",
    "n[3-1]",
    "n[]",
    "n[a-c]",
    "n[1-]",
    "n[1-9999]",
    "n[1-3]-ib",
    "n[1-3]-ib,n7",
)


@pytest.mark.parametrize("text", LISTS)
def test_a_list_is_expanded_in_its_order(text: str) -> None:
    assert expand_host_list(text) == LISTS[text].split()


@pytest.mark.parametrize("text", REFUSED)
def test_what_slurm_does_not_print_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        expand_host_list(text)
