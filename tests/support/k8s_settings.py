# SPDX-License-Identifier: GPL-3.0-or-later
"""What the daemons of the lab read: certificates, who may log in, and their configurations."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.tests.support import k8s_image

SERVER = "https://127.0.0.1:6443"
# The pods' network; its first address is the bridge, and the name server.
BRIDGE, PODS, FIRST_POD = "10.244.0.1", "10.244.0.0/24", "10.244.0.10"
SERVICES, API_SERVICE = "10.96.0.0/24", "10.96.0.1"
DOMAIN = "cluster.local"
ADMIN = "admin"


def address_of(node: str) -> str:
    """Return a node's address: kubelets refuse one of 127/8, so that it is another one of the interface lo."""
    return f"10.244.255.{node.removeprefix('gpu')}"


def write_certificates(folder: Path) -> None:
    """Write a certificate authority, what the API server shows its clients and the kubelets, and the key of tokens."""
    _openssl(folder, "req", "-x509", *_new_key("ca"), "-out", "ca.crt", "-days", "30", "-subj", "/CN=lab")
    names = f"DNS:localhost,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:{API_SERVICE}"
    _sign(folder, "api", "/CN=kube-apiserver", names)
    _sign(folder, "kubelet-client", "/O=system:masters/CN=apiserver", "DNS:apiserver")
    _openssl(folder, "genrsa", "-out", "tokens.key", "2048")
    _openssl(folder, "rsa", "-in", "tokens.key", "-pubout", "-out", "tokens.pub")


def _sign(folder: Path, name: str, subject: str, names: str) -> None:
    (folder / f"{name}.ext").write_text(f"subjectAltName={names}\n")
    _openssl(folder, "req", *_new_key(name), "-out", f"{name}.csr", "-subj", subject)
    authority = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", f"{name}.ext", "-days", "30"]
    _openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.crt", *authority)


def _new_key(name: str) -> list[str]:
    return ["-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key"]


def _openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True, timeout=60)


def write_logins(base: Path, nodes: list[str]) -> None:
    """Write the tokens of the administrator and of every node, and a kubeconfig for each."""
    logins = [(ADMIN, ADMIN, "system:masters"), *((node, f"system:node:{node}", "system:nodes") for node in nodes)]
    lines = [f'token-{name},{user},{name},"{group}"\n' for name, user, group in logins]
    (base / "pki" / "logins.csv").write_text("".join(lines))
    for name, _user, _group in logins:
        path = base / "kubeconfig" if name == ADMIN else base / name / "kubeconfig"
        path.write_text(json.dumps(_kubeconfig(f"token-{name}", base / "pki" / "ca.crt")))


def _kubeconfig(token: str, authority: Path) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "lab",
        "clusters": [{"name": "lab", "cluster": {"server": SERVER, "certificate-authority": str(authority)}}],
        "users": [{"name": "user", "user": {"token": token}}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "user"}}],
    }


def etcd(base: Path) -> list[str]:
    """Return the options of etcd."""
    client, peer = "http://127.0.0.1:2379", "http://127.0.0.1:2380"
    return [
        *("--name=lab", f"--data-dir={base}/etcd", "--unsafe-no-fsync", f"--initial-cluster=lab={peer}"),
        *(f"--listen-client-urls={client}", f"--advertise-client-urls={client}"),
        *(f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}"),
    ]


def api_server(base: Path) -> list[str]:
    """Return the options of kube-apiserver."""
    pki = base / "pki"
    return [
        *("--etcd-servers=http://127.0.0.1:2379", "--bind-address=127.0.0.1", "--secure-port=6443"),
        *("--insecure-port=0", f"--advertise-address={BRIDGE}", f"--service-cluster-ip-range={SERVICES}"),
        *(f"--tls-cert-file={pki}/api.crt", f"--tls-private-key-file={pki}/api.key", f"--client-ca-file={pki}/ca.crt"),
        *("--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={pki}/tokens.pub"),
        *(f"--service-account-signing-key-file={pki}/tokens.key", f"--token-auth-file={pki}/logins.csv"),
        *("--authorization-mode=Node,RBAC", "--allow-privileged=true", "--endpoint-reconciler-type=none"),
        *(f"--kubelet-client-certificate={pki}/kubelet-client.crt", f"--kubelet-client-key={pki}/kubelet-client.key"),
        "--kubelet-preferred-address-types=InternalIP",
    ]


def controller_manager(base: Path) -> list[str]:
    """Return the options of kube-controller-manager, which notices a lost node within seconds."""
    return [
        *(f"--kubeconfig={base}/kubeconfig", "--bind-address=127.0.0.1", "--port=0", "--leader-elect=false"),
        *(f"--service-account-private-key-file={base}/pki/tokens.key", f"--root-ca-file={base}/pki/ca.crt"),
        *("--use-service-account-credentials=true", "--node-monitor-grace-period=16s"),
    ]


def scheduler(base: Path) -> list[str]:
    """Return the options of kube-scheduler."""
    return [f"--kubeconfig={base}/kubeconfig", "--bind-address=127.0.0.1", "--port=0", "--leader-elect=false"]


def write_networks(base: Path) -> None:
    """Write how a pod is connected: a bridge for all of the lab, and the interfaces of an SR-IOV network."""
    pool = {"type": "host-local", "ranges": [[{"subnet": PODS, "rangeStart": FIRST_POD}]], "dataDir": f"{base}/ipam"}
    bridge = {"type": "bridge", "bridge": "br0", "isGateway": True, "hairpinMode": True}
    bridge |= {"ipam": {**pool, "routes": [{"dst": "0.0.0.0/0"}]}}
    network = {"cniVersion": "0.4.0", "name": "lab", "plugins": [bridge, {"type": "muster-interfaces"}]}
    (base / "networks" / "10-lab.conflist").write_text(json.dumps(network))


def write_containerd(base: Path, node: str) -> Path:
    """Write the configuration of a node's containerd; a machine without CAP_SYS_RESOURCE may not lower OOM scores."""
    home, cri = base / node, '[plugins."io.containerd.grpc.v1.cri"'
    path = home / "containerd.toml"
    path.write_text(
        f'version = 2\nroot = "{home}/containerd"\nstate = "{home}/run"\n[grpc]\naddress = "{home}/containerd.sock"\n'
        f'{cri}]\nsandbox_image = "{k8s_image.NAME}"\nrestrict_oom_score_adj = true\ndisable_apparmor = true\n'
        f'stream_server_address = "127.0.0.1"\n'
        f'{cri}.cni]\nbin_dir = "{base}/plugins"\nconf_dir = "{base}/networks"\n'
    )
    return path


def write_kubelet(base: Path, node: str) -> list[str]:
    """Write the configuration of a node's kubelet; return its options."""
    home = base / node
    config = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": address_of(node),
        "port": 10250,
        "readOnlyPort": 0,
        "healthzPort": 0,
        "oomScoreAdj": 0,
        "cgroupDriver": "cgroupfs",
        "cgroupsPerQOS": False,
        "enforceNodeAllocatable": [],
        "failSwapOn": False,
        "makeIPTablesUtilChains": False,
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        # A disk that is nearly full is the machine's affair.
        "evictionHard": {
            "imagefs.available": "0%",
            "nodefs.available": "0%",
            "nodefs.inodesFree": "0%",
            "memory.available": "50Mi",
        },
        "clusterDNS": [BRIDGE],
        "clusterDomain": DOMAIN,
        "resolvConf": str(base / "resolv.conf"),
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": False},
            "x509": {"clientCAFile": str(base / "pki" / "ca.crt")},
        },
        "authorization": {"mode": "AlwaysAllow"},
        "volumePluginDir": str(home / "volume-plugins"),
        "nodeStatusUpdateFrequency": "2s",
    }
    (home / "kubelet.json").write_text(json.dumps(config))
    return [
        *(f"--config={home}/kubelet.json", f"--kubeconfig={home}/kubeconfig", f"--hostname-override={node}"),
        *(f"--node-ip={address_of(node)}", f"--root-dir={home}/kubelet", f"--cert-dir={home}/pki"),
        *("--container-runtime=remote", f"--container-runtime-endpoint=unix://{home}/containerd.sock"),
        "--node-labels=nvidia.com/gpu.present=true",
    ]
