# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of hosts as people name them: ranges, lists, node_ip_list.txt, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.muster.train.plugins.plugin_utils._request.host_list import (
    LIMIT,
    HostsError,
    Target,
    expand,
    parse_hosts,
    parse_node_list,
    parse_target,
)


def names(text: str) -> list[str]:
    return [target.name for target in parse_hosts(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b,c", ["a", "b", "c"]),
        (" a  b ,c", ["a", "b", "c"]),
        ("gpu[01-03]", ["gpu01", "gpu02", "gpu03"]),
        ("gpu[8-10]", ["gpu8", "gpu9", "gpu10"]),
        ("gpu[098-100]", ["gpu098", "gpu099", "gpu100"]),
        ("head,gpu[1,3-4].example.com", ["head", "gpu1.example.com", "gpu3.example.com", "gpu4.example.com"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("10.0.0.[11-12],10.0.1.9", ["10.0.0.11", "10.0.0.12", "10.0.1.9"]),
        ("ann@h1:2222,h1", ["h1-2222", "h1-22"]),
    ],
)
def test_the_order_is_kept(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_user_and_port_become_ansibles_variables() -> None:
    [one, other] = parse_hosts(["ann@gpu[1-2]:2222"])
    assert one == Target("gpu1", "ann", 2222, "gpu1")
    assert other.variables() == {"ansible_user": "ann", "ansible_port": 2222}
    [first, _second] = parse_hosts("h:1,h:2")
    assert first.variables() == {"ansible_host": "h", "ansible_port": 1}


INVALID = [
    "-oProxyCommand=touch",
    "a;reboot",
    "$(reboot)",
    "`id`",
    "a|b",
    "a/b",
    "h_1",
    "a-.b",
    "a..b",
    "x" * 64,
    ".".join(["x" * 60] * 5),
    "-o@host",
    "ann;x@host",
    "host:0",
    "host:65536",
    "host:ssh",
    "fe80::1",
    "10.0.0.256",
    "10.0.1",
    "localhost",
    "ALL",
    "{{ lookup('pipe', 'id') }}",
    "höst",
    "gpu[1-",
    "gpu]1[",
    "gpu[]",
    "gpu[a-b]",
    "gpu[16-01]",
    "",
]


@pytest.mark.parametrize("text", INVALID)
def test_an_invalid_host_is_refused_and_shown(text: str) -> None:
    with pytest.raises(HostsError) as caught:
        parse_hosts([text])
    assert caught.value.lines
    assert all(line.isprintable() for line in caught.value.lines)


TOO_LARGE = ["h[0-999999999]", f"h[0-{LIMIT}]", "a[0-2000]b[0-2000]"]


def test_a_range_too_large_is_refused_before_it_is_expanded() -> None:
    for text in TOO_LARGE:
        with pytest.raises(HostsError):
            parse_hosts(text)
    assert len(parse_hosts(f"h[1-{LIMIT}]")) == LIMIT


TWICE = ["a,b,A", "n[1-3],n2", "a,a:22", "a,x@a"]


@pytest.mark.parametrize("text", TWICE)
def test_a_host_that_is_given_twice_is_refused(text: str) -> None:
    with pytest.raises(HostsError) as caught:
        parse_hosts(text)
    assert len(caught.value.lines) == 1


def test_a_node_ip_list() -> None:
    text = "\ufeff# the head first\n\n10.0.0.1   # rack 1\n\tann@gpu-02:2222\r\n   \ngpu-03\t\n"
    assert [(target.host, target.user, target.port) for target in parse_node_list(text)] == [
        ("10.0.0.1", None, None),
        ("gpu-02", "ann", 2222),
        ("gpu-03", None, None),
    ]


NODE_LISTS = {"wrong lines": "a\n\nb c\n-x\n# b\na\nn[1-2]\n", "no host": "# nothing\n"}


@pytest.mark.parametrize(("name", "count"), [("wrong lines", 4), ("no host", 1)])
def test_every_wrong_line_of_a_node_ip_list_is_refused(name: str, count: int) -> None:
    with pytest.raises(HostsError) as caught:
        parse_node_list(NODE_LISTS[name])
    assert len(caught.value.lines) == count


@pytest.mark.slow
@given(st.text(max_size=40))
def test_only_hosts_come_out(text: str) -> None:
    try:
        targets = parse_hosts(text) + parse_node_list(text)
    except HostsError:
        return
    for target in targets:
        again = parse_target(target.host)
        assert again.host == target.host
        assert not target.host.startswith("-")
        assert set(target.host) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-")


@given(st.integers(0, 999), st.integers(0, 99))
def test_a_range_has_every_number_once(begin: int, size: int) -> None:
    end = begin + size
    assert list(expand(f"n[{begin:03}-{end}]")) == [f"n{number:03}" for number in range(begin, end + 1)]
