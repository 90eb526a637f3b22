# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster of pods that the verbs deploy themselves, in the lab, as a user who may do just what they need."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.muster.train.tests.support import deployers, k8s_image
from ansible_collections.muster.train.tests.support.cluster import Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for
from ansible_collections.muster.train.tests.support.k8s_lab import Lab
from ansible_collections.muster.train.tests.support.play import Played

NAME, USER, VOLUME = "trainer", "deployer", "/workspace"
# How long a refusal lasts before it is believed: the volumes of the lab are bound within a second.
PATIENCE_S = 10


@dataclass
class DeployedPods(Cluster):
    """Pods of the verbs `setup`, `scale` and `teardown`; deployment has variables of the role without their prefix."""

    lab: Lab = field(kw_only=True)
    namespace: str = field(kw_only=True)

    def __post_init__(self) -> None:
        self.deployment: dict[str, Any] = {
            "namespace": self.namespace,
            "name": NAME,
            "image": k8s_image.NAME,
            "pull_policy": "Never",
            "volume_path": VOLUME,
            "volume_size": "1Gi",
            "patience": PATIENCE_S,
            "wait": 120,
        }
        super().__post_init__()

    @property
    def inventory(self) -> Path:
        return self.home / "pods"

    def write(self) -> None:
        """Write an inventory without nodes: these verbs make and remove them."""
        variables = {f"openshift_{name}": value for name, value in self.deployment.items()}
        (self.inventory / "group_vars").mkdir(parents=True, exist_ok=True)
        (self.inventory / "hosts.yml").write_text(yaml.safe_dump({"nodes": {"hosts": {}}}))
        (self.inventory / "group_vars" / "all.yml").write_text(yaml.safe_dump(variables))

    def prepare(self) -> None:
        """Make the namespace, and the user of it who deploys."""
        self.lab.apply(*deployers.objects(self.namespace, USER))
        token = wait_for(self._token, f"{USER} has a token")
        known = json.loads(self.lab.kubeconfig.read_text())
        known["users"] = [{"name": "user", "user": {"token": token}}]
        (self.home / "kubeconfig").write_text(json.dumps(known))

    def _token(self) -> str | None:
        for secret in self.lab.read("secrets", "-n", self.namespace)["items"]:
            owner = (secret["metadata"].get("annotations") or {}).get("kubernetes.io/service-account.name")
            if owner == USER and "token" in secret.get("data", {}):
                return base64.b64decode(secret["data"]["token"]).decode()
        return None

    def command(self, playbook: str, *extra: str) -> list[str]:
        return [*self.lab.inside(), *super().command(playbook, *extra)]

    def environment(self, **more: str) -> dict[str, str]:
        mine = str(self.home / "kubeconfig")
        return super().environment(**{**self.lab.environment, "KUBECONFIG": mine, "K8S_AUTH_KUBECONFIG": mine, **more})

    def change(self, **deployment: Any) -> None:
        """Change the policy of the deployment."""
        self.deployment.update(deployment)
        self.write()

    def deploy_only(self, *extra: str) -> Played:
        """Deploy the pods, without setting them up."""
        return self.play("playbooks/setup.yml", "--tags", "openshift", *extra)

    def objects(self, kind: str) -> list[dict[str, Any]]:
        """Return what the namespace has of a kind."""
        return list(self.lab.read(kind, "-n", self.namespace)["items"])

    def names_of(self, kind: str) -> list[str]:
        """Return the names of what the namespace has of a kind."""
        return sorted(item["metadata"]["name"] for item in self.objects(kind))

    def replicas(self) -> int:
        """Return how many pods the StatefulSet is asked to have."""
        (stateful_set,) = self.objects("statefulsets")
        return int(stateful_set["spec"]["replicas"])

    def ready(self) -> list[str]:
        """Return the pods that are ready and not deleted."""
        return sorted(
            pod["metadata"]["name"]
            for pod in self.objects("pods")
            if "deletionTimestamp" not in pod["metadata"]
            and {"type": "Ready", "status": "True"}.items()
            <= next((item for item in pod["status"].get("conditions", ()) if item["type"] == "Ready"), {}).items()
        )

    def inside(self, pod: str, *argv: str) -> str:
        """Run a command in a pod; return what it prints."""
        return self.lab.kubectl("exec", "-n", self.namespace, pod, "--", *argv)
