# SPDX-License-Identifier: GPL-3.0-or-later
"""kubectl, or OpenShift's oc, on the controller: what its options are, and errors to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .._findings.command_end import RunLimited
from .._findings.errors import UserError

PATIENCE_S = 30.0
# The binaries, whose names the variables of their connections have, and these connections.
CONNECTIONS = {"kubectl": "kubernetes.core.kubectl", "oc": "community.okd.oc"}
OPTIONS = ("kubeconfig", "context", "namespace")


@frozen
class Client:
    """Which cluster is asked, and by what; an empty text leaves it to the client's own configuration."""

    binary: str = "kubectl"
    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""

    def words(self) -> list[str]:
        """Return the beginning of its command lines."""
        return [self.binary, *(f"--{name}={value}" for name in OPTIONS if (value := getattr(self, name)))]

    def variables(self, container: str) -> dict[str, str]:
        """Return the variables of the connection that are the same for every pod."""
        values = {**{name: getattr(self, name) for name in OPTIONS}, "container": container}
        named = {variable(self.binary, name): value for name, value in values.items() if value}
        return {"ansible_connection": CONNECTIONS[self.binary], **named}

    def ask(self, run: RunLimited, *argv: str) -> str:
        """Return what a command prints; raise UserError where it fails."""
        command = [*self.words(), f"--request-timeout={PATIENCE_S:.0f}s", *argv]
        done = run(command, PATIENCE_S + 5)
        if done.missing:
            raise UserError(
                f"{self.binary} was not found on this machine: install it (Debian: apt install kubernetes-client; "
                "oc is OpenShift's), or set binary in the inventory"
            )
        if done.rc != 0:
            raise UserError(
                f"{' '.join(command)} failed: {done.why(PATIENCE_S)}; log in to the cluster, or correct kubeconfig, "
                "context and namespace in the inventory"
            )
        return done.out


def variable(binary: str, name: str) -> str:
    """Return the variable that sets an option of the connection with a binary."""
    return f"ansible_{binary}_{name}"


def binary_of(connection: str) -> str | None:
    """Return the binary of a connection with pods, None for any other."""
    return next((binary for binary, name in CONNECTIONS.items() if name == connection), None)


def enter(binary: str, pod: str, variables: Mapping[str, Any]) -> list[str]:
    """Return what begins a command that is typed here and runs in a pod; variables are the host's."""
    known = {name: str(variables.get(variable(binary, name)) or "") for name in (*OPTIONS, "pod", "container")}
    client = Client(binary, *(known[name] for name in OPTIONS))
    container = [f"--container={known['container']}"] if known["container"] else []
    return [*client.words(), "exec", "--stdin", "--tty", known["pod"] or pod, *container, "--"]
