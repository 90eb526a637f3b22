# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface of an address, as the kernel knows it."""

from __future__ import annotations

import json
import random
import shutil
import socket
import struct
import subprocess
import sys

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.live import LiveHost
from ansible_collections.muster.train.plugins.module_utils._host.netlink import (
    NLM_F_DUMP_INTR,
    NLMSG_DONE,
    NLMSG_ERROR,
    RTM_NEWADDR,
    ask_interfaces,
    parse_address,
    parse_messages,
)

# Two NICs in one subnet, and an address that is a network of its own, as on clouds' VMs and in pods.
NETWORKS = """
for nic in 0 1 2; do
  ip link add nic$nic type veth peer name far$nic
  ip link set nic$nic up
  ip link set far$nic up
done
ip address add 10.20.0.11/24 dev nic0
ip address add 10.20.0.12/24 dev nic1
ip address add 10.128.0.5/32 dev nic2
ip route add 10.128.0.1 dev nic2
ip route add default via 10.128.0.1
"""
QUESTION = """
import json, sys
from ansible_collections.muster.train.plugins.module_utils._host.live import LiveHost
from ansible_collections.muster.train.plugins.module_utils._net.network import read_net
print(json.dumps({item.address: item.interface for item in read_net(LiveHost(), [], sys.exit).addresses}))
"""


# Above all indexes that a kernel gives: it has vanished since.
VANISHED = 0x7FFFFFFF


def message(kind: int, body: bytes, flags: int = 2) -> bytes:
    padded = body + bytes(-len(body) % 4)
    return struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + padded


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def test_messages_and_their_addresses() -> None:
    header = struct.pack("=BBBBI", socket.AF_INET, 32, 0, 0, 7)
    # 1 is the other end of a tunnel, 3 the label, 2 the address of this end.
    body = header + attribute(1, bytes([10, 9, 0, 1])) + attribute(3, b"tun0\0") + attribute(2, bytes([10, 9, 0, 2]))
    data = message(RTM_NEWADDR, body) + message(NLMSG_DONE, bytes(4))
    messages = list(parse_messages(data))
    assert [(kind, flags) for kind, flags, _body in messages] == [(RTM_NEWADDR, 2), (NLMSG_DONE, 2)]
    assert parse_address(messages[0][2]) == (7, "10.9.0.2")
    assert parse_address(header) is None


def test_no_datagram_is_an_exception() -> None:
    chance = random.Random(7)
    for _case in range(2000):
        data = chance.randbytes(chance.randrange(120))
        for _kind, _flags, body in [*parse_messages(data), (0, 0, data)]:
            parse_address(body)


def address(index: int, text: str, flags: int = 2) -> bytes:
    """Return the kernel's message about an address of an interface."""
    header = struct.pack("=BBBBI", socket.AF_INET, 32, 0, 0, index)
    return message(RTM_NEWADDR, header + attribute(2, socket.inet_aton(text)), flags)


def ask(*answers: bytes) -> tuple[dict[str, str] | None, int]:
    """Return the interfaces where the kernel gives these answers, and how many questions it got."""
    link, kernel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with link, kernel:
        link.settimeout(60)
        for answer in answers:
            kernel.send(answer)
        interfaces = ask_interfaces(link)
        link.shutdown(socket.SHUT_WR)
        questions = 0
        while kernel.recv(4096):
            questions += 1
        return interfaces, questions


def test_an_interface_that_vanishes_does_not_hide_the_others() -> None:
    loopback = socket.if_nametoindex("lo")
    addresses = address(loopback, "127.0.0.1") + address(VANISHED, "10.9.0.1") + address(loopback, "127.0.0.2")
    assert ask(addresses + message(NLMSG_DONE, bytes(4))) == ({"127.0.0.1": "lo", "127.0.0.2": "lo"}, 1)


def test_an_interrupted_list_is_asked_for_once_more() -> None:
    loopback, done = socket.if_nametoindex("lo"), message(NLMSG_DONE, bytes(4))
    interrupted = [address(loopback, "127.0.0.2", NLM_F_DUMP_INTR), message(NLMSG_DONE, bytes(4), NLM_F_DUMP_INTR)]
    whole = [address(loopback, "127.0.0.1"), done]
    assert ask(*interrupted, *whole) == ({"127.0.0.1": "lo"}, 2)
    assert ask(*interrupted, *interrupted) == ({"127.0.0.2": "lo"}, 2)
    assert ask(*interrupted, message(NLMSG_ERROR, bytes(20))) == (None, 2)


def test_this_machine_has_its_loopback_address() -> None:
    assert (LiveHost().ipv4_interfaces() or {})["127.0.0.1"] == "lo"


def test_addresses_whose_interface_no_route_says() -> None:
    words = ["unshare", "--user", "--map-root-user", "--net", "sh", "-euc", f'{NETWORKS}exec "$0" "$@"']
    if shutil.which("ip") is None or subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no network namespace can be made here")
    answer = subprocess.run(
        [*words, sys.executable, "-c", QUESTION],
        capture_output=True,
        check=True,
        text=True,
        timeout=120,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
    )
    interfaces = json.loads(answer.stdout)
    assert interfaces == {"10.20.0.11": "nic0", "10.20.0.12": "nic1", "10.128.0.5": "nic2"}
