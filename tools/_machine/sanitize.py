# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a file goes into a recording: of files that tell much of other things, only what the readers look at."""

from __future__ import annotations

import ipaddress
import re
import sys

from ansible_collections.muster.train.plugins.module_utils._container.kind import parse_environ
from ansible_collections.muster.train.plugins.module_utils._gpu.virtual_topology import CONFIGURATION, parse_hypervisor
from ansible_collections.muster.train.plugins.module_utils._net.network import TCP_LISTEN, parse_addresses
from ansible_collections.muster.train.plugins.module_utils._rdma.gdr import PEER_SYMBOL
from ansible_collections.muster.train.plugins.module_utils._system.kernel import parse_command_line
from ansible_collections.muster.train.tools._machine.replace import Replacements

# Variables that say what was granted and in what one is. All others, secrets among them, stay where they are.
VARIABLE = re.compile(
    r"PCIDEVICE_\w+|\w+_VISIBLE_DEVICES|KUBERNETES_SERVICE_HOST|container|(?:APPTAINER|SINGULARITY)_CONTAINER"
)
STATUS = re.compile(r"(?:Cpus_allowed_list|Mems_allowed_list|Cap[A-Z][a-z]+):")


def contents(path: str, text: str, replacements: Replacements, mounted: set[str]) -> str:
    """Return what is recorded of a file; mounted are the mount points that matter."""
    name = path.rpartition("/")[2]
    if path == "/proc/sys/kernel/hostname":
        return f"{replacements.name(text.strip(), 'host')}\n"
    if path == CONFIGURATION:
        text = "".join(f"{line}\n" for line in text.splitlines() if line.startswith(("NCCL_", "RCCL_")))
    if not path.startswith("/proc/"):
        return replacements.text(_identity(name, text, replacements))
    if name == "environ":
        text = _environ(text, replacements)
    elif name == "limits":
        text = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    elif name == "cmdline":
        text = " ".join(parse_command_line(text)) + "\n"
    elif name == "status":
        text = "".join(line for line in text.splitlines(keepends=True) if STATUS.match(line))
    elif name == "cpuinfo":
        flags = {None: "", False: "flags\t\t:\n", True: "flags\t\t: hypervisor\n"}
        text = flags[parse_hypervisor(text)]
    elif name == "kallsyms":
        symbol = PEER_SYMBOL.decode()
        text = f"0 T {symbol}\n" if symbol in text else ""
    elif name == "mountinfo":
        text = _mountinfo(text, mounted)
    elif name in ("tcp", "tcp6"):
        return _listeners(text)
    elif name == "route":
        return _routes(text, replacements)
    elif name == "fib_trie":
        return _fib_trie(text, replacements)
    elif name == "if_inet6":
        return _ipv6_addresses(text, replacements)
    elif name == "ipv6_route":
        return _ipv6_routes(text, replacements)
    return replacements.text(text)


def learn(path: str, text: str, replacements: Replacements) -> None:
    """Note names and addresses that may stand in other files, too."""
    name = path.rpartition("/")[2]
    if path == "/proc/sys/kernel/hostname":
        replacements.word(text.strip(), "host")
        replacements.word(text.strip().partition(".")[0], "host")
    elif path.endswith("/serviceaccount/namespace"):
        replacements.word(text.strip(), "namespace")
    elif name == "fib_trie":
        replacements.addresses.update(parse_addresses(text))
    elif name == "route":
        for line in text.splitlines()[1:]:
            replacements.addresses.update(str(address) for address in map(_address, line.split()[1:3]) if address)
    elif name == "environ":
        host = parse_environ(text).get("KUBERNETES_SERVICE_HOST")
        replacements.addresses.update([host] if host else [])
    elif re.fullmatch("gids/[0-9]+", "/".join(path.split("/")[-2:])):
        try:
            mapped = ipaddress.IPv6Address(text.strip()).ipv4_mapped
        except ValueError:
            return
        replacements.addresses.update([str(mapped)] if mapped else [])


def _identity(name: str, text: str, replacements: Replacements) -> str:
    if name == "unique_id" and re.fullmatch("[0-9a-f]{16}\n?", text):
        return f"{replacements.number('gpu', int(text, 16)):016x}\n"
    if name == "properties":  # of KFD: decimal numbers
        return re.sub(
            r"(?m)^(unique_id|hive_id) ([0-9]+)$",
            lambda match: (
                f"{match[1]} {replacements.number('gpu' if match[1] == 'unique_id' else 'hive', int(match[2]))}"
            ),
            text,
        )
    return text


def _environ(text: str, replacements: Replacements) -> str:
    variables = {name: value for name, value in parse_environ(text).items() if VARIABLE.fullmatch(name)}
    return "".join(f"{name}={value}\0" for name, value in variables.items())


def _mountinfo(text: str, mounted: set[str]) -> str:
    """Keep where and what kind; not from where, which names servers and people."""
    lines = []
    for line in text.splitlines():
        fields = line.split(" ")
        if "-" in fields[6:-1] and fields[4] in mounted:
            kind = fields[fields.index("-", 6) + 1]
            lines.append(f"{fields[0]} {fields[1]} {fields[2]} / {fields[4]} rw - {kind} none rw\n")
    return "".join(lines)


def _listeners(text: str) -> str:
    """Keep the listening ports; not on which address, nor who is connected."""
    lines = text.splitlines(keepends=True)
    kept = [f"{line.rstrip()}\n" for line in lines[:1]]
    for line in lines[1:]:
        fields = line.split()
        if len(fields) > 9 and fields[3] == TCP_LISTEN:
            for place in (1, 2):
                address, colon, port = fields[place].partition(":")
                fields[place] = f"{'0' * len(address)}{colon}{port}"
            kept.append(f"   {' '.join(fields)}\n")
    return "".join(kept)


def _address(digits: str) -> ipaddress.IPv4Address | None:
    """Return an address of /proc/net/route: the number in this machine's byte order; None for 0."""
    try:
        value = int(digits, 16).to_bytes(4, "little" if sys.byteorder == "little" else "big")
    except (ValueError, OverflowError):
        return None
    return ipaddress.IPv4Address(value) if any(value) else None


def _digits(address: str) -> str:
    packed = ipaddress.IPv4Address(address).packed
    return f"{int.from_bytes(packed, 'little' if sys.byteorder == 'little' else 'big'):08X}"


def _routes(text: str, replacements: Replacements) -> str:
    lines = text.splitlines()
    kept = [line.rstrip() for line in lines[:1]]
    for line in lines[1:]:
        fields = line.split()
        if len(fields) < 8:
            continue
        destination, gateway, mask = (_address(fields[place]) for place in (1, 2, 7))
        if destination is not None and mask is not None:
            length = bin(int(mask)).count("1")
            fields[1] = _digits(replacements.ipv4(f"{destination}/{length}").partition("/")[0])
        if gateway is not None:
            fields[2] = _digits(replacements.ipv4(str(gateway)))
        kept.append("\t".join([replacements.text(fields[0]), *fields[1:]]))
    return "\n".join(kept) + "\n"


def _fib_trie(text: str, replacements: Replacements) -> str:
    leaves = [f"     |-- {replacements.ipv4(address)}\n        /32 host LOCAL\n" for address in parse_addresses(text)]
    return "Local:\n  +-- 0.0.0.0/0 2 0 2\n" + "".join(leaves)


def _ipv6_addresses(text: str, replacements: Replacements) -> str:
    """Keep the addresses in /proc/net/if_inet6; not the numbers of the interfaces, which differ from boot to boot."""
    lines = [line.split() for line in text.splitlines()]
    return "".join(
        f"{_ipv6_digits(fields[0], 128, replacements)} 00 {' '.join(fields[2:5])} {replacements.text(fields[5]):>8}\n"
        for fields in lines
        if len(fields) == 6
    )


def _ipv6_routes(text: str, replacements: Replacements) -> str:
    kept = []
    for fields in (line.split() for line in text.splitlines()):
        if len(fields) == 10:
            for place in (0, 2):
                fields[place] = _ipv6_digits(fields[place], int(fields[place + 1], 16), replacements)
            fields[4] = _ipv6_digits(fields[4], 128, replacements)
            kept.append(" ".join([*fields[:9], replacements.text(fields[9])]))
    return "".join(f"{line}\n" for line in kept)


def _ipv6_digits(digits: str, length: int, replacements: Replacements) -> str:
    network = replacements.ipv6_network(f"{ipaddress.IPv6Address(bytes.fromhex(digits))}/{length}")
    return ipaddress.IPv6Address(network.partition("/")[0]).packed.hex()
