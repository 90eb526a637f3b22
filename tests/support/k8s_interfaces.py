# SPDX-License-Identifier: GPL-3.0-or-later
"""A CNI plugin of the lab: gives a pod the interfaces net1 to net4, as Multus and sriov-cni do for virtual functions.

Started by containerd behind the plugin `bridge` (CNI specification 0.4.0): the command and the pod's network namespace
are in the environment, the network and the result so far on standard input.
"""

from __future__ import annotations

import ipaddress
import json
import os
import subprocess
import sys

COUNT = 4
MTU = "9000"


def main() -> None:
    """Carry a command of CNI out."""
    command = os.environ["CNI_COMMAND"]
    if command == "VERSION":
        print(json.dumps({"cniVersion": "0.4.0", "supportedVersions": ["0.3.1", "0.4.0"]}))
        return
    network = json.load(sys.stdin)
    if command != "ADD":  # the interfaces end with the pod's namespace
        return
    result = network["prevResult"]
    host = int(ipaddress.ip_interface(result["ips"][0]["address"]).ip) & 0xFF
    namespace, container = os.environ["CNI_NETNS"], os.environ["CNI_CONTAINERID"][:6]
    for number in range(1, COUNT + 1):
        peer = ["type", "veth", "peer", "name", f"net{number}", "mtu", MTU, "netns", namespace]
        _run("ip", "link", "add", f"r{container}{number}", "mtu", MTU, *peer)
        _run("ip", "link", "set", f"r{container}{number}", "master", "rdma0", "up")
        inside = ["nsenter", f"--net={namespace}", "ip"]
        _run(*inside, "addr", "add", f"192.168.10{number}.{host}/24", "dev", f"net{number}")
        _run(*inside, "link", "set", f"net{number}", "up")
    print(json.dumps(result))


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, stdout=sys.stderr, timeout=20)


if __name__ == "__main__":
    main()
