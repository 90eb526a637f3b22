# SPDX-License-Identifier: GPL-3.0-or-later
"""Delay all that this host sends into a network: `delay_line.py INTERFACE NETWORK SECONDS`, until SIGTERM.

For kernels without netem. What the host sends goes into a tun device; after the delay a raw socket sends it on, with a
mark by which its route is the interface's own.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections import deque

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
DEVICE, TABLE, MARK = "late0", "77", 77
PACKET = 65535


def own_address(interface: str) -> str:
    """Return the IPv4 address of an interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        return socket.inet_ntoa(fcntl.ioctl(sock, 0x8915, struct.pack("256s", interface.encode()))[20:24])


def main(interface: str, network: str, seconds: float) -> None:
    """Carry the packets."""
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, MARK)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    address = own_address(interface)
    for words in (
        f"link set {DEVICE} mtu 1500 txqueuelen 10000 up",
        f"route add {network} dev {DEVICE} src {address} table {TABLE}",
        f"rule add priority 50 fwmark {MARK} lookup main",
        f"rule add priority 51 to {network} lookup {TABLE}",
    ):
        subprocess.run(["ip", *words.split()], check=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    waiting: deque[tuple[float, bytes]] = deque()
    try:
        while True:
            wait = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
            if select.select([tun], [], [], wait)[0]:
                waiting.append((time.monotonic() + seconds, os.read(tun, PACKET)))
            while waiting and waiting[0][0] <= time.monotonic():
                packet = waiting.popleft()[1]
                if packet[0] >> 4 == 4:
                    raw.sendto(packet, (socket.inet_ntoa(packet[16:20]), 0))
    finally:
        for priority in ("50", "51"):
            subprocess.run(["ip", "rule", "del", "priority", priority], check=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
