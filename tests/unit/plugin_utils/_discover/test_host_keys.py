# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of host keys: what ssh-keyscan says, fingerprints as ssh-keygen shows them, keys that changed."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._discover import host_keys
from ansible_collections.muster.train.plugins.plugin_utils._discover.host_keys import HostKey

BLOB = "AAAAC3NzaC1lZDI1NTE5AAAAINiG27xRX2rsu9cVZzStWJNMJURj7vzKG1QGJ0+XUF0L"
OTHER = "AAAAC3NzaC1lZDI1NTE5AAAAIBLDDzBqpMGaHS1C3SoqHiD0AqRIRdVBSZqpnNTDCQEr"
ED = "ssh-ed25519"


def test_what_ssh_keyscan_says() -> None:
    text = (
        "# gpu01:22 SSH-2.0-OpenSSH_9.2p1\n"
        f"gpu01 {ED} {BLOB}\n[10.0.0.1]:2222 {ED} {BLOB} comment\na,b {ED} {OTHER}\n"
        f"@revoked x {ED} {BLOB}\n|1|hash|hash {ED} {BLOB}\nbroken {ED} no!key\ngpu01 {ED}\n\n"
    )
    assert [(key.where, key.blob) for key in host_keys.parse_keys(text)] == [
        ("gpu01", BLOB),
        ("[10.0.0.1]:2222", BLOB),
        ("a", OTHER),
        ("b", OTHER),
    ]


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen not found: apt install openssh-client")
@pytest.mark.parametrize(("kind", "called"), [("ed25519", "ED25519"), ("ecdsa", "ECDSA"), ("rsa", "RSA")])
def test_fingerprints_are_those_of_ssh_keygen(kind: str, called: str, tmp_path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", str(tmp_path / "key")], check=True)
    [key] = host_keys.parse_keys("host " + (tmp_path / "key.pub").read_text())
    (tmp_path / "known").write_text(host_keys.known_hosts([key]))
    shown = subprocess.run(
        ["ssh-keygen", "-l", "-f", str(tmp_path / "known")], check=True, capture_output=True, text=True
    ).stdout.split()
    assert (shown[1], shown[-1]) == (key.fingerprint, f"({key.short_type})") == (key.fingerprint, f"({called})")


@pytest.mark.parametrize(
    ("host", "port", "where"), [("GPU1", None, "gpu1"), ("h", 22, "h"), ("10.0.0.1", 2222, "[10.0.0.1]:2222")]
)
def test_where_ssh_looks(host: str, port: int | None, where: str) -> None:
    assert host_keys.where(host, port) == where


def test_keys_that_changed() -> None:
    old, new, rsa = HostKey("h", ED, BLOB), HostKey("h", ED, OTHER), HostKey("h", "ssh-rsa", BLOB)
    assert host_keys.changed([old], [old, rsa]) == []
    assert host_keys.changed([old], [new]) == [old]
    # Another type is a new key, not another one.
    assert host_keys.changed([rsa], [old]) == []
    assert host_keys.changed([old], []) == []


def test_a_host_is_named_once() -> None:
    keys = [HostKey("h", ED, BLOB), HostKey("h", "ecdsa-sha2-nistp256", OTHER)]
    assert [row[:2] for row in host_keys.fingerprints([("gpu01", keys)])] == [("gpu01", "ED25519"), ("", "ECDSA")]


def test_how_ssh_would_reach_it() -> None:
    text = "user ann\nhostname 10.0.0.1\nport 2222\nproxyjump none\nproxycommand none\nidentityfile ~/.ssh/id\n"
    assert host_keys.parse_settings(text) == {"user": "ann", "hostname": "10.0.0.1", "port": "2222"}
    assert host_keys.parse_settings("proxyjump bastion\n") == {"proxyjump": "bastion"}
    assert host_keys.parse_settings("") == {}


@pytest.mark.parametrize("file", ["/home/ann/.ansible/tmp/k", "/home/Ann Smith/.ansible/it's"])
def test_ssh_finds_the_file_whatever_the_home_is_called(file: str) -> None:
    # As Ansible divides the options, and as ssh reads them.
    argv = ["ssh", "-G", "-F", "/dev/null", *shlex.split(host_keys.ssh_args(file)), "example.com"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert f"userknownhostsfile {file}" in done.stdout.splitlines()
    assert "stricthostkeychecking true" in done.stdout
