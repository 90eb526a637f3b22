# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cluster has beside Kubernetes, for the lab: names of pods, volumes that are made on demand, and devices.

usage: k8s_services.py BASE ADMIN_TOKEN    (inside the lab)

Stands in for CoreDNS (dnsmasq answers, from the endpoints of services), a provisioner of volumes (those of the class
`lab` are folders of BASE/volumes), and the device plugins of GPUs and of SR-IOV (the status of the nodes has them).
"""

from __future__ import annotations

import json
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SERVER = "https://127.0.0.1:6443"
DOMAIN = "svc.cluster.local"
NAME_SERVER = "10.244.0.1"
CLASS = "lab"
DEVICES = {"nvidia.com/gpu": "4", "openshift.io/eno5np0rdma": "1", "openshift.io/eno6np0rdma": "1"}
PAUSE_S = 0.3


class Api:
    """The API server."""

    def __init__(self, base: Path, token: str) -> None:
        self.context = ssl.create_default_context(cafile=str(base / "pki" / "ca.crt"))
        self.token = token

    def ask(self, path: str, content: Any = None, method: str | None = None, kind: str = "application/json") -> Any:
        """Return what the server answers, as data; raise OSError where it refuses or does not answer."""
        data = None if content is None else json.dumps(content).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        request = urllib.request.Request(f"{SERVER}{path}", data, headers, method=method)
        with urllib.request.urlopen(request, context=self.context, timeout=10) as answer:
            return json.load(answer)

    def items(self, path: str) -> list[dict[str, Any]]:
        """Return the objects of a list."""
        return list(self.ask(path)["items"])


def hosts(endpoints: list[dict[str, Any]]) -> str:
    """Return the addresses of services, and of the pods of headless ones, as /etc/hosts has them."""
    return "".join(f"{address} {name}\n" for address, name in sorted(_names(endpoints)))


def _names(endpoints: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for item in endpoints:
        service = f"{item['metadata']['name']}.{item['metadata']['namespace']}.{DOMAIN}"
        for subset in item.get("subsets") or ():
            for address in (*(subset.get("addresses") or ()), *(subset.get("notReadyAddresses") or ())):
                yield address["ip"], service
                if address.get("hostname"):
                    yield address["ip"], f"{address['hostname']}.{service}"


def make_class(api: Api) -> None:
    """Make the storage class of the lab, which is the default."""
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    content = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": CLASS, "annotations": annotations},
        "provisioner": "muster.train/lab",
        "reclaimPolicy": "Retain",
    }
    api.ask("/apis/storage.k8s.io/v1/storageclasses", content)


def make_volumes(api: Api, folder: Path) -> None:
    """Make a volume for every claim of the class that waits for one; several pods may write to one volume."""
    volumes = {item["metadata"]["name"] for item in api.items("/api/v1/persistentvolumes")}
    for claim in api.items("/api/v1/persistentvolumeclaims"):
        spec, meta = claim["spec"], claim["metadata"]
        name = f"lab-{meta['uid']}"
        if spec.get("storageClassName") != CLASS or claim["status"]["phase"] != "Pending" or name in volumes:
            continue
        path = folder / meta["namespace"] / meta["name"]
        path.mkdir(parents=True, exist_ok=True)
        # A pod of OpenShift has a random user.
        path.chmod(0o1777)
        reference = {key: meta[key] for key in ("namespace", "name", "uid")}
        content = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {
                "capacity": spec["resources"]["requests"],
                "accessModes": spec["accessModes"],
                "storageClassName": CLASS,
                "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": reference,
                "hostPath": {"path": str(path)},
            },
        }
        api.ask("/api/v1/persistentvolumes", content)


def add_devices(api: Api) -> None:
    """Give every node the devices that it lacks."""
    for node in api.items("/api/v1/nodes"):
        capacity = node["status"].get("capacity") or {}
        missing = [name for name in DEVICES if name not in capacity]
        patch = [
            {"op": "add", "path": f"/status/capacity/{name.replace('/', '~1')}", "value": DEVICES[name]}
            for name in missing
        ]
        if capacity and patch:
            path = f"/api/v1/nodes/{node['metadata']['name']}/status"
            api.ask(path, patch, "PATCH", "application/json-patch+json")


def main(base: Path, token: str) -> None:
    """Serve until the lab ends."""
    table = base / "hosts"
    table.write_text("")
    options = [
        *(f"--listen-address={NAME_SERVER}", "--bind-interfaces", "--no-resolv", "--no-hosts", "--no-negcache"),
        *("--keep-in-foreground", "--conf-file=/dev/null", "--local=/cluster.local/", "--user=root", "--pid-file="),
    ]
    server = subprocess.Popen(["dnsmasq", *options, f"--addn-hosts={table}"])
    api = Api(base, token)
    make_class(api)
    while True:
        try:
            text = hosts(api.items("/api/v1/endpoints"))
            if text != table.read_text():
                table.write_text(text)
                server.send_signal(signal.SIGHUP)
            make_volumes(api, base / "volumes")
            add_devices(api)
        except OSError as error:  # the API server is away, or an object has changed meanwhile
            print(error, flush=True)
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
