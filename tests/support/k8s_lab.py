# SPDX-License-Identifier: GPL-3.0-or-later
"""A Kubernetes cluster of two nodes on this machine: the real servers, kubelets and pods, of programs of `.ci/k8s`.

usage: python -m ansible_collections.muster.train.tests.support.k8s_lab up | run COMMAND... | down

It has namespaces of its own for processes, mounts and the network: nothing is changed on the machine, nothing can be
reached from outside, and when its first process ends, everything of it has ended. The nodes share the machine's files.
What else a cluster has is in k8s_services.py, a pod's network in k8s_interfaces.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.module_utils.runner.process import Process
from ansible_collections.muster.train.tests.support import k8s_image, k8s_interfaces, k8s_services, k8s_settings
from ansible_collections.muster.train.tests.support.jobs import wait_for

NODES = ["gpu1", "gpu2"]
BIN = k8s_image.CACHE / "bin"
# Of `up`, for the commands typed after it.
PLACE = k8s_image.CACHE / "lab"
RECORD = PLACE / "first.json"
PROGRAMS = ("containerd", "ctr", "runc", "dnsmasq", "mmdebstrap", "openssl", "nsenter", "unshare", "ip")
# Ignored children are reaped by the kernel.
FIRST = "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nwhile True: signal.pause()\n"
PATH = f"{BIN}:{os.environ['PATH']}:/usr/sbin:/sbin"
HIDDEN = ("/run", "/var/lib/cni", "/var/log")
SLOW_S = 120


def missing() -> str | None:
    """Return why there can be no lab here."""
    if os.geteuid() != 0:
        return "only root may make networks"
    absent = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    if absent or not (BIN / ".complete").exists():
        return f"{', '.join(absent) or 'kube-apiserver'} not found: .ci/k8s installs and builds what is missing"
    return None


@dataclass
class Lab:
    """A running lab, whose files are in `base`; first is the process that everything ends with."""

    base: Path
    first: int = 0
    daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def kubeconfig(self) -> Path:
        """The administrator's."""
        return self.base / "kubeconfig"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a user of the lab: what kubectl reads, and what Ansible's modules do."""
        return {"KUBECONFIG": str(self.kubeconfig), "K8S_AUTH_KUBECONFIG": str(self.kubeconfig), "PATH": PATH}

    def inside(self) -> list[str]:
        """Return the words that let a command of a user reach the lab."""
        return ["nsenter", "--target", str(self.first), "--net", "--"]

    def kubectl(self, *argv: str, content: Any = None, timeout: float = 60) -> str:
        """Run kubectl, content being its input as JSON; return what it prints."""
        data = None if content is None else json.dumps(content)
        words = [*self.inside(), "kubectl", *argv]
        environment = {**os.environ, **self.environment}
        done = subprocess.run(
            words, input=data, env=environment, capture_output=True, text=True, check=False, timeout=timeout
        )
        assert done.returncode == 0, f"kubectl {argv}: {done.stdout}{done.stderr}"
        return done.stdout

    def read(self, *argv: str) -> Any:
        """Return an object, or objects, as kubectl prints them in JSON."""
        return json.loads(self.kubectl("get", *argv, "-o", "json"))

    def apply(self, *objects: Mapping[str, Any]) -> None:
        """Let the cluster have these objects."""
        self.kubectl("apply", "-f", "-", content={"apiVersion": "v1", "kind": "List", "items": list(objects)})

    def signal(self, daemon: str, number: int) -> None:
        """Send a signal to a daemon, such as api-server or kubelet-gpu2; its pods do not get it."""
        os.killpg(self.daemons[daemon].pid, number)  # with nsenter, which stops with what it has started

    def end(self) -> None:
        """End everything of the lab."""
        if self.first:  # 0 is the process group of the test
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.first, signal.SIGKILL)
            # It ends after all others in its namespace.
            wait_for(lambda: process_tree.look(self.first) is None, "the lab has ended", 30)
        for daemon in self.daemons.values():
            daemon.wait(30)
        # Which a container that was killed leaves.
        for folder in Path("/sys/fs/cgroup").glob("*/k8s.io/*"):
            with contextlib.suppress(OSError):
                folder.rmdir()


@contextlib.contextmanager
def running(base: Path) -> Iterator[Lab]:
    """Run a lab whose files are in `base`, a short path."""
    lab = Lab(base)
    try:
        start(lab)
        yield lab
    finally:
        lab.end()


def start(lab: Lab) -> None:
    """Start a lab, and return when its nodes are ready."""
    base = lab.base
    for name in ("pki", "networks", "plugins", "volumes", "log", *NODES):
        (base / name).mkdir(parents=True)
    (base / "resolv.conf").write_text("")
    k8s_settings.write_certificates(base / "pki")
    k8s_settings.write_logins(base, NODES)
    k8s_settings.write_networks(base)
    _write_plugins(base / "plugins")
    _make_place(lab)
    _daemon(lab, "etcd", "etcd", *k8s_settings.etcd(base))
    _daemon(lab, "api-server", "kube-apiserver", *k8s_settings.api_server(base))
    wait_for(lambda: _answers(lab, "get", "--raw", "/readyz"), "the API server is ready", SLOW_S)
    _daemon(lab, "controllers", "kube-controller-manager", *k8s_settings.controller_manager(base))
    _daemon(lab, "scheduler", "kube-scheduler", *k8s_settings.scheduler(base))
    image = k8s_image.archive()
    for node in NODES:
        _daemon(lab, f"containerd-{node}", "containerd", "-c", str(k8s_settings.write_containerd(base, node)))
        socket = base / node / "containerd.sock"
        wait_for(socket.exists, f"containerd of {node} listens")
        _inside(lab, "ctr", "-a", str(socket), "-n", "k8s.io", "images", "import", str(image))
        _daemon(lab, f"kubelet-{node}", "kubelet", *k8s_settings.write_kubelet(base, node))
    script = str(Path(k8s_services.__file__).resolve())
    _daemon(lab, "services", sys.executable, script, str(base), f"token-{k8s_settings.ADMIN}")
    wait_for(lambda: _ready_nodes(lab) == NODES, "the nodes are ready", SLOW_S)


def _write_plugins(folder: Path) -> None:
    for name in ("bridge", "host-local", "loopback", "portmap"):
        (folder / name).symlink_to(BIN / name)
    plugin = folder / "muster-interfaces"
    plugin.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(k8s_interfaces.__file__).resolve()} "$@"\n')
    plugin.chmod(0o755)


def _make_place(lab: Lab) -> None:
    """Make the namespaces and the bridges of the lab, and hide what the machine keeps where its daemons write."""
    names = ["--net", "--mount", "--pid", "--propagation", "private", "--fork", "--mount-proc"]
    place = subprocess.Popen(
        ["unshare", *names, sys.executable, "-c", FIRST],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    lab.daemons["place"] = place
    lab.first = wait_for(lambda: _first_process(place.pid), "the lab has namespaces")
    addresses = [f"ip address add {k8s_settings.address_of(node)}/32 dev lo" for node in NODES]
    hidden = [f"mkdir -p {path} && mount -t tmpfs tmpfs {path}" for path in HIDDEN]
    commands = [
        *("ip link set lo up", "ip link add br0 type bridge", f"ip address add {k8s_settings.BRIDGE}/24 dev br0"),
        *("ip link set br0 up", "ip link add rdma0 type bridge", "ip link set rdma0 mtu 9000 up"),
        *(*addresses, *hidden),
    ]
    _inside(lab, "sh", "-ec", "\n".join(commands))


def _first_process(parent: int) -> int | None:
    """Return the PID of the lab's first process as this machine sees it, once it is in its namespaces."""
    children = process_tree.descendants(parent)
    return children[0].pid if children and process_tree.command(children[0].pid) != "unshare" else None


def _words(lab: Lab) -> list[str]:
    return ["nsenter", "--target", str(lab.first), "--net", "--mount", "--pid", "--"]


def _inside(lab: Lab, *argv: str) -> None:
    """Run a command as the lab's daemons are."""
    environment = {**os.environ, **lab.environment}
    done = subprocess.run(
        [*_words(lab), *argv], env=environment, capture_output=True, text=True, check=False, timeout=SLOW_S
    )
    assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"


def _daemon(lab: Lab, name: str, *argv: str) -> None:
    with (lab.base / "log" / name).open("wb") as output:
        lab.daemons[name] = subprocess.Popen(
            [*_words(lab), *argv],
            env={**os.environ, **lab.environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def _answers(lab: Lab, *argv: str) -> bool:
    with contextlib.suppress(AssertionError):
        return bool(lab.kubectl(*argv))
    return False


def _ready_nodes(lab: Lab) -> list[str]:
    """Return the nodes that are ready and have their devices."""
    ready = []
    for node in lab.read("nodes")["items"]:
        status = node["status"]
        conditions = {item["type"]: item["status"] for item in status.get("conditions") or ()}
        if conditions.get("Ready") == "True" and set(k8s_services.DEVICES) <= set(status.get("allocatable") or ()):
            ready.append(node["metadata"]["name"])
    return sorted(ready)


def main(argv: list[str]) -> int:
    """Carry out what was typed."""
    if argv[:1] not in (["up"], ["run"], ["down"]):
        print(__doc__)
        return 2
    lab = _running_lab()
    if why := missing():
        print(f"muster: {why}")
        return 2
    if argv == ["up"]:
        if lab is None:
            shutil.rmtree(PLACE, ignore_errors=True)
            lab = Lab(PLACE)
            try:
                start(lab)
            except BaseException:
                lab.end()
                raise
            RECORD.write_text(json.dumps(asdict(process_tree.look(lab.first) or Process(0, 0, 0, ""))))
        print(f"The nodes {' and '.join(NODES)} are ready; kubeconfig: {lab.kubeconfig}")
        return 0
    if lab is None:
        print("muster: no lab is running: make k8s-lab")
        return 2
    if argv[0] == "run":
        return subprocess.run([*lab.inside(), *argv[1:]], env={**os.environ, **lab.environment}, check=False).returncode
    lab.end()
    shutil.rmtree(PLACE)
    return 0


def _running_lab() -> Lab | None:
    """Return the lab that `up` has started."""
    if not RECORD.exists():
        return None
    known = Process(**json.loads(RECORD.read_text()))
    now = process_tree.look(known.pid)
    return Lab(PLACE, known.pid) if now and now.start_time == known.start_time else None


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
