# SPDX-License-Identifier: GPL-3.0-or-later
"""The pods of a StatefulSet of the lab as a cluster of a test: its inventory asks the API server, inside the lab."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.muster.train.plugins.module_utils._records import layout
from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.module_utils.runner.process import Process
from ansible_collections.muster.train.tests.support import k8s_image
from ansible_collections.muster.train.tests.support.apptainer_image import PACKAGES
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, WORKLOADS, Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for
from ansible_collections.muster.train.tests.support.k8s_lab import Lab
from ansible_collections.muster.train.tests.support.play import ROOT

NAME = "trainer"
EXAMPLE = ROOT / "examples" / "tiny_gpt"
# Where a pod has them: the volume, and what is bound in from this machine.
VOLUME = "/workspace"
CODE = "/code"


def manifests(namespace: str, replicas: int = 2, **container: Any) -> list[dict[str, Any]]:
    """Return a namespace with a headless service and a StatefulSet, whose pods have a volume each."""
    labels = {"app": NAME}
    bound = {"code": str(WORKLOADS), "example": str(EXAMPLE), "packages": PACKAGES}
    places = {"code": CODE, "example": "/example", "packages": "/packages"}
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    pod = {
        "terminationGracePeriodSeconds": 10,
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
        "containers": [
            {
                "name": NAME,
                "image": k8s_image.NAME,
                "imagePullPolicy": "Never",
                "command": ["/usr/bin/tini", "-s", "--", "sleep", "infinity"],
                "volumeMounts": [
                    *({"name": name, "mountPath": places[name], "readOnly": True} for name in bound),
                    {"name": "workspace", "mountPath": VOLUME},
                    {"name": "shm", "mountPath": "/dev/shm"},
                ],
                **container,
            }
        ],
        "volumes": [
            *({"name": name, "hostPath": {"path": path}} for name, path in bound.items()),
            {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "256Mi"}},
        ],
    }
    meta = {"name": NAME, "namespace": namespace}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": meta,
            "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": labels, "ports": [{"port": 1}]},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": meta,
            "spec": {
                "serviceName": NAME,
                "replicas": replicas,
                "podManagementPolicy": "Parallel",
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
                "volumeClaimTemplates": [{"metadata": {"name": "workspace"}, "spec": claim}],
            },
        },
    ]


@dataclass
class PodNodes(Cluster):
    """The pods of a StatefulSet, each with a volume of its own, on which each test has a directory of its own."""

    lab: Lab = field(kw_only=True)
    namespace: str = field(kw_only=True)
    test: str = field(kw_only=True, default="test")

    def __post_init__(self) -> None:
        self.names = [f"{NAME}-{ordinal}" for ordinal in range(2)]
        super().__post_init__()

    @property
    def inventory(self) -> Path:
        return self.home / "pods"

    def write(self) -> None:
        (self.inventory / "group_vars").mkdir(parents=True, exist_ok=True)
        policy = {
            **self.policy,
            "ansible_python_interpreter": "/usr/bin/python3",
            "launch_python": "/usr/bin/python3",
            "launch_workdir": self.workdir,
            "launch_code_dir": CODE,
            "launch_env": {"PYTHONPATH": "/packages"},
            "launch_defaults": {"script": "sleeper.py", "nproc": 2},
        }
        for name in ("ansible_connection", "launch_head_address", "ansible_remote_tmp", "launch_port_range"):
            del policy[name]
        source = {"plugin": "muster.train.statefulset", "namespace": self.namespace}
        (self.inventory / "statefulset.yml").write_text(yaml.safe_dump(source))
        (self.inventory / "group_vars" / "nodes.yml").write_text(yaml.safe_dump(policy))

    @property
    def workdir(self) -> str:
        """The work directory in every pod, which tells this test's processes from others'."""
        return f"{VOLUME}/{self.test}"

    def deploy(self, **container: Any) -> None:
        """Make the StatefulSet, and wait for its pods."""
        self.lab.apply(*manifests(self.namespace, len(self.names), **container))
        self.await_pods()

    def await_pods(self) -> None:
        """Wait until all pods are ready."""
        wait_for(lambda: self.ready() == self.names, f"the pods of {self.namespace} are ready")

    def ready(self) -> list[str]:
        """Return the pods that are ready and not deleted."""
        pods = self.lab.read("pods", "-n", self.namespace)["items"]
        return sorted(
            pod["metadata"]["name"]
            for pod in pods
            if "deletionTimestamp" not in pod["metadata"]
            and any(
                item["type"] == "Ready" and item["status"] == "True" for item in pod["status"].get("conditions", ())
            )
        )

    def address(self, pod: str) -> str:
        """Return a pod's address."""
        return str(self.lab.read("pod", pod, "-n", self.namespace)["status"]["podIP"])

    def inside(self, pod: str, *argv: str) -> str:
        """Run a command in a pod; return what it prints."""
        return self.lab.kubectl("exec", "-n", self.namespace, pod, "--", *argv)

    def command(self, playbook: str, *extra: str) -> list[str]:
        return [*self.lab.inside(), *super().command(playbook, *extra)]

    def environment(self, **more: str) -> dict[str, str]:
        return super().environment(**{**self.lab.environment, **more})

    def run_dir(self, node: str, run_id: str = RUN_ID) -> Path:
        """Return a run's directory on a pod's volume, as this machine has it."""
        volume = self.lab.base / "volumes" / self.namespace / f"workspace-{node}" / self.test
        return Path(layout.run_dir(str(volume), node, run_id))

    def processes(self, run_id: str | None = None) -> list[Process]:
        processes = []
        for process in process_tree.every():
            marks = process_tree.environment(process.pid)
            if marks.get("MUSTER_RUN_DIR", "").startswith(self.workdir) and run_id in (None, marks["MUSTER_RUN_ID"]):
                processes.append(process)
        return processes

    def plan(self) -> dict[str, Any]:
        """Return the plan of this test's run."""
        return dict(json.loads((self.experiments / RUN_ID / "plan.json").read_text()))
