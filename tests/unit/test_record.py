# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine that is recorded and shown again is the same machine, but for what only it has."""

from __future__ import annotations

import ipaddress
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._facts.gather import Gathered, gather
from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._net.network import read_net
from ansible_collections.muster.train.tools._machine.machine import MACHINES, Machine
from ansible_collections.muster.train.tools._machine.manifest import Manifest, dump, read
from ansible_collections.muster.train.tools._machine.record import RECORDED, Recording, record
from ansible_collections.muster.train.tools._machine.replace import Replacements
from ansible_collections.muster.train.tools._machine.sanitize import contents, learn

KEY = b"0123456789abcdef"
NAMES = sorted(path.stem for path in MACHINES.glob("*.yml"))


class RecordedMachine(Recording, Machine):
    """A machine as text that is recorded again."""


class RecordedHost(Recording, Host):
    """This machine."""


def facts(gathered: Gathered) -> dict[str, Any]:
    """Return what is the machine's, not the test's: no times, no free space, nothing of the directory it lies in."""
    assert gathered.rdma is not None
    assert gathered.gpu is not None
    node = gathered.node.to_dict()
    for key in ("timings", "disks", "workdir"):
        del node[key]
    del node["net"]["namespace"]  # an inode of this boot
    node["net"]["addresses"].sort(key=str)
    if node["container"]:
        del node["container"]["shm_bytes"]
    return {
        "rdma": gathered.rdma.to_dict(),
        "gpu": gathered.gpu.to_dict(),
        "node": node,
        "warnings": sorted(gathered.warnings),
    }


def replaced(value: Any, replacements: Replacements) -> Any:
    """Replace in every text of some facts."""
    if isinstance(value, dict):
        return {key: replaced(item, replacements) for key, item in value.items()}
    if isinstance(value, list):
        return [replaced(item, replacements) for item in value]
    return replacements.text(value) if isinstance(value, str) else value


def same_again(first: Gathered, noted: Manifest, replacements: Replacements, root: Path) -> None:
    expected = replaced(facts(first), replacements)
    expected["node"]["hostname"] = replacements.name(first.node.hostname, "host")
    expected["node"]["net"]["addresses"].sort(key=str)
    assert read(dump(noted)) == noted
    assert facts(gather(Machine(noted, root), RECORDED)) == expected


@pytest.mark.parametrize("name", NAMES)
def test_round_trip(name: str, tmp_path: Path) -> None:
    manifest = read((MACHINES / f"{name}.yml").read_text(encoding="utf-8"))
    first = gather(Machine(manifest, tmp_path / "a"), RECORDED)
    noted, replacements, again = record(RecordedMachine(manifest, tmp_path / "b"), KEY)
    assert facts(again) == facts(first)
    same_again(first, noted, replacements, tmp_path / "c")


def test_this_machine(tmp_path: Path) -> None:
    noted, replacements, first = record(RecordedHost(), KEY)
    same_again(first, noted, replacements, tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_is_only_its_own_is_left(name: str, tmp_path: Path) -> None:
    manifest = read((MACHINES / f"{name}.yml").read_text(encoding="utf-8"))
    text = dump(record(RecordedMachine(manifest, tmp_path), KEY)[0])
    identities = {
        *(
            text.strip()
            for path, text in manifest.files.items()
            if path.endswith(("node_guid", "unique_id", "/address"))
        ),
        *(text.strip() for path, text in manifest.files.items() if path.endswith(("machine-id", "boot_id"))),
        *re.findall(r"GPU-[0-9a-f-]{36}", dump(manifest)),
        *re.findall(r"\|-- ([0-9.]+)\n\s*/32 host LOCAL", manifest.files.get("/proc/net/fib_trie", "")),
        manifest.files["/proc/sys/kernel/hostname"].strip(),
    } - {"", "127.0.0.1", "127.0.0.0", "0000:0000:0000:0000"}
    assert identities
    assert [
        value for value in identities if re.search(rf"(?<![0-9A-Za-z]){re.escape(value)}(?![0-9A-Za-z])", text)
    ] == []


def test_addresses_share_as_many_bits_as_before() -> None:
    chance = random.Random(42)
    replacements = Replacements(KEY)
    for _case in range(300):
        one = chance.choice([0x0A000000, 0xAC100000, 0xC0A80000, 0x64400000, 0x08080000]) | chance.getrandbits(16)
        other = one ^ 1 << chance.randrange(16)
        new = [int(ipaddress.IPv4Address(replacements.ipv4(str(ipaddress.IPv4Address(old))))) for old in (one, other)]
        assert (new[0] ^ new[1]).bit_length() == (one ^ other).bit_length()
        assert replacements.ipv4(str(ipaddress.IPv4Address(one))) == str(ipaddress.IPv4Address(new[0]))
        network = ipaddress.IPv4Network(replacements.ipv4(f"{ipaddress.IPv4Address(one & 0xFFFFFF00)}/24"))
        assert ipaddress.IPv4Address(new[0]) in network


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "255.255.255.255", "224.0.0.1", "no", "1.2.3.4/99"])
def test_addresses_that_stay(address: str) -> None:
    assert Replacements(KEY).ipv4(address) == address


def test_what_is_made_of_the_same_value_stays_made_of_it() -> None:
    replacements = Replacements(KEY)
    replacements.addresses.add("10.1.2.3")

    def new(text: str) -> str:
        return replacements.text(text)

    mac = new("b8:3f:d2:20:07:44")
    assert mac != "b8:3f:d2:20:07:44"
    assert mac.startswith("b8:3f:d2:")
    end = mac[9:].replace(":", "")
    assert new("fe80:0000:0000:0000:ba3f:d2ff:fe20:0744") == f"fe80:0000:0000:0000:ba3f:d2ff:fe{end[:2]}:{end[2:]}"
    assert new("b83f:d203:0020:0744") == f"b83f:d203:00{end[:2]}:{end[2:]}"
    assert new("0xb83fd20300200744") == f"0xb83fd20300{end}"
    assert new("enxb83fd2200744") == f"enxb83fd2{end}"
    assert new("00:00:10:49:fe:80:00:00:00:00:00:00:b8:3f:d2:03:00:20:07:44").endswith(f"b8:3f:d2:03:00:{mac[9:]}")
    address = ipaddress.IPv4Address(new("10.1.2.3"))
    packed = address.packed.hex()
    gid = f"0000:0000:0000:0000:0000:ffff:{packed[:4]}:{packed[4:]}"
    assert new("0000:0000:0000:0000:0000:ffff:0a01:0203") == gid
    assert new("::ffff:10.1.2.3 10.1.2.3/32").endswith(f"{address}/32")
    one, other = (ipaddress.IPv6Address(new(f"fd12:3456:789a:1::{end}")) for end in ("14", "15"))
    assert one in ipaddress.IPv6Network(f"{other}/64", strict=False)


@pytest.mark.parametrize(
    "text",
    [
        "0000:18:00.0",
        "00:00:00:00:00:00",
        "0000:0000:0000:0000:0000:0000:0000:0000",
        "0000:0000:0000:0000",
        "fe80:0000:0000:0000:0000:0000:0000:0000",
        "::1",
        "0::/",
        "12:30:45",
        "NVRM version: 550.90.07",
        "230.2.49.0",
        "Serial Number : N/A",
        "MT_0000000838 400 Gb/sec (4X NDR) 0x15b3 0x020700",
        "std::vector<int>::begin",
    ],
)
def test_what_is_nobodys_stays(text: str) -> None:
    assert Replacements(KEY).text(text) == text


def test_serial_numbers_and_homes() -> None:
    replacements = Replacements(KEY)
    text = 'Serial Number : 1652423004731\n<serial>1652423004731</serial>\n"asic_serial": "0x5A3C1001"\n/home/ann/x'
    assert not re.search("1652423004731|5A3C1|ann", replacements.text(text))
    assert replacements.text("/home/ann/y /home/bob") == "/home/user1/y /home/user2"


@pytest.mark.parametrize(
    ("path", "text", "kept"),
    [
        (
            "/proc/self/environ",
            "AWS_SECRET=x\0PCIDEVICE_A=0000:18:00.2\0CUDA_VISIBLE_DEVICES=0\0HOME=/home/a\0",
            "PCIDEVICE_A=0000:18:00.2\0CUDA_VISIBLE_DEVICES=0\0",
        ),
        ("/proc/cmdline", "root=/dev/secret ip=10.0.0.1 iommu=pt pci=realloc\n", "iommu=pt pci=realloc\n"),
        (
            "/proc/self/mountinfo",
            "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:5 / /home/ann rw - nfs4 filer:/home/ann rw,addr=10.0.0.9\n",
            "1 0 8:1 / / rw - ext4 none rw\n",
        ),
        ("/proc/self/status", "Name:\tsecret\nUid:\t1000\nCpus_allowed_list:\t0-3\n", "Cpus_allowed_list:\t0-3\n"),
        (
            "/proc/net/tcp",
            "  sl\n 0: 0100007F:1F90 00000000:0000 0A 0 0 0 0 0 7 1\n"
            " 1: 0A00000A:1F90 0B00000A:9999 01 0 0 0 0 0 8 1\n",
            "  sl\n   0: 00000000:1F90 00000000:0000 0A 0 0 0 0 0 7 1\n",
        ),
        ("/proc/kallsyms", "ffff T a\nffff T ib_register_peer_memory_client\n", "0 T ib_register_peer_memory_client\n"),
    ],
)
def test_of_files_that_tell_much_else_little_is_recorded(path: str, text: str, kept: str) -> None:
    assert contents(path, text, Replacements(KEY), {"/"}) == kept


def test_routes_follow_the_addresses(tmp_path: Path) -> None:
    route = (
        "Iface Destination Gateway\neth0 0002010A 00000000 0001 0 0 0 00FFFFFF\neth0 00000000 FE02010A 0003 0 0 0 0\n"
    )
    files = {"/proc/net/route": route, "/proc/net/fib_trie": "|-- 10.1.2.3\n /32 host LOCAL\n"}
    replacements = Replacements(KEY)
    for path, text in files.items():
        learn(path, text, replacements)
    new = {path: contents(path, text, replacements, set()) for path, text in files.items()}
    net = read_net(Machine({"files": new}, tmp_path), [], print)
    [address] = net.addresses
    assert address.address == replacements.ipv4("10.1.2.3") != "10.1.2.3"
    assert address.interface == "eth0"
    assert net.routes[1].gateway == replacements.ipv4("10.1.2.254")
    assert ipaddress.IPv4Address(net.routes[1].gateway) in ipaddress.IPv4Network(net.routes[0].destination)


def test_what_is_read_of_a_folder_is_recorded(tmp_path: Path) -> None:
    manifest = {
        "files": {"/gids/0": "fe80", "/elsewhere": "secret"},
        "links": {"/gids/2": "../elsewhere"},
        "errors": {"/gids/1": "EINVAL"},
    }
    host = RecordedMachine(manifest, tmp_path)
    assert host.read_folder("/gids", ["0", "1", "2", "3"]) == {"0": b"fe80"}
    noted = host.as_noted()
    assert (noted.files, noted.errors, noted.links) == (
        {"/gids/0": "fe80"},
        {"/gids/1": "EINVAL"},
        {"/gids/2": "../elsewhere"},
    )


def test_of_the_code_and_the_packages_nothing_leaves_the_machine(tmp_path: Path) -> None:
    manifest = {
        "files": {
            "/home/ann/muster/code/.git/HEAD": "ref: refs/heads/acquisition\n",
            "/usr/bin/python3": "",
            "/usr/lib/python3.11/site-packages/torch/version.py": "__version__ = '2.4.0+cu124'\ncuda = '12.4'\n",
            "/usr/lib/python3.11/site-packages/secret_product/__init__.py": "",
        },
        "commands": {
            "git status --porcelain=v2 --branch": {"stdout": "# branch.head acquisition\n? secret_plan.txt\n"}
        },
    }
    noted, _replacements, gathered = record(RecordedMachine(manifest, tmp_path), KEY)
    text = dump(noted)
    assert "acquisition" not in text and "secret" not in text
    assert gathered.node.versions is not None
    assert not [line for line in noted.commands if line.startswith("git")]


def test_many_different_numbers_are_replaced() -> None:
    """One look at a dictionary for each: looking through all that were seen took minutes for a cluster's worth."""
    replacements = Replacements(KEY)
    assert [replacements.number("uuid", number) for number in range(1, 50001)] == [*range(1, 50001)]
    assert replacements.number("uuid", 7) == 7
    assert replacements.number("mac", 7) == 1


@pytest.mark.slow
def test_the_script(tmp_path: Path) -> None:
    command = [sys.executable, str(MACHINES.parents[1] / "tools/machine.py"), "record", "--output"]
    run = subprocess.run([*command, "m.yml"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert read((tmp_path / "m.yml").read_text(encoding="utf-8")).about.startswith("Recorded: ")
    run = subprocess.run([*command, "no/m.yml"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (2, "machine.py record: no/m.yml: No such file or directory\n")
