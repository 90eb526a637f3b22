# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node is: everything a launch needs to know of it, in one look."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_facts
short_description: What a node is, as a launch needs to know it
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Reads a node and returns the facts that a launch is planned from, in one execution.
  - It only looks. Nothing on the node is changed (but see O(probe_disks)) and nothing is decided.
  - Beside what a node is, it tells how it is, as preflight needs to know. Of another O(root), those of these parts are
    null that a tree cannot tell, as the clock, the engine, the kernel's log, V(sudo) and what can be reached.
  - What cannot be seen is null and a warning says why. A part that hangs costs ten seconds, and the others are told.
    What each took is among the facts.
options:
  workdir:
    description:
      - The node's work directory. It need not exist.
      - C(~) and C($VARIABLES) of the user on the node are replaced.
    type: path
    default: ~/muster
  code_dir:
    description:
      - The directory with the code that the ranks run in. Relative paths in other options are below it.
      - The default is O(workdir).
    type: path
  python:
    description: >-
      The training interpreter, as a name to look for in E(PATH) or as a path; a relative path is below O(code_dir).
    type: str
    default: python3
  files:
    description: Files to look for, such as the script.
    type: list
    elements: str
    default: []
  config:
    description: The launch's configuration file. Its content is returned when it has at most 256 KiB of UTF-8.
    type: str
  ports:
    description: TCP ports whose holder is of interest when somebody listens on them.
    type: list
    elements: int
    default: []
  slot:
    description: The slot of the work directory whose holder is of interest.
    type: str
    default: default
  data_dirs:
    description: Directories with data whose file systems are of interest beside those of O(workdir) and O(code_dir).
    type: list
    elements: path
    default: []
  asked_at:
    description: The time on the controller, in seconds since the epoch. It is returned beside the node's own.
    type: float
  names:
    description: Names to look up, beside the node's own.
    type: list
    elements: str
    default: []
  docker:
    description: The words that ask the container engine, such as V([sudo, -n, docker]).
    type: list
    elements: str
    default: [docker]
  images:
    description: Container images of interest, by tag or digest.
    type: list
    elements: str
    default: []
  reach:
    description: Ports of others to connect to, as V(10.0.0.1:29500) or V([fd00::1]:29500). Nothing is sent.
    type: list
    elements: str
    default: []
  as_root:
    description: Words to put before the commands that read the kernel's log, such as V([sudo, -n]).
    type: list
    elements: str
    default: []
  probe_disks:
    description:
      - Whether to try by writing whether O(workdir) and C(/tmp) can be written. A file of 4 KiB without a name is made
        in the directory, or in the next above that exists, and is gone again. Where the file system has no files
        without names it gets one for that moment, but not in a checkout of git, where it is not tried then.
      - It is not tried in check mode, and never in O(code_dir) and O(data_dirs).
    type: bool
    default: false
  subset:
    description:
      - The parts to look at, as for M(ansible.builtin.setup). The others are null.
      - A name adds a part, V(all) adds all, and a name after C(!) takes one away (from all, if nothing is added).
      - V(min) is what is always there, which is the identity, the work directory and the interpreter.
        V(!min) changes nothing.
      - V(rdma) and V(gpu) become facts of their own. V(gpu), V(gpu_health), V(code), V(tools), V(engine),
        V(kernel_log), V(processes) and V(sudo) run commands, the others do not.
    type: list
    elements: str
    aliases: [gather_subset]
    choices: [
      all, min, net, rdma, gpu, code, files, limits, slot, container, disk, versions, tools, kernel, clock, names,
      devices, engine, reach, kernel_log, processes, memory, sudo, interfaces, gpu_health, '!all', '!min', '!net',
      '!rdma', '!gpu', '!code', '!files', '!limits', '!slot', '!container', '!disk', '!versions', '!tools', '!kernel',
      '!clock', '!names', '!devices', '!engine', '!reach', '!kernel_log', '!processes', '!memory', '!sudo',
      '!interfaces', '!gpu_health']
    default: [all]
extends_documentation_fragment:
  - muster.train.root
  - muster.train.attributes
  - muster.train.attributes.facts
"""

EXAMPLES = r"""
- name: Everything a launch needs to know of this node
  muster.train.node_facts:
    workdir: ~/muster
    code_dir: ~/muster/code
    python: venv/bin/python
    files: [train.py]
    config: configs/model.yaml
    ports: [29500]

- name: Only the network of the host, from a container that has the host's tree under /host
  muster.train.node_facts:
    root: /host
    workdir: /var/lib/muster
    subset: [net]

- name: Everything but what commands tell
  muster.train.node_facts:
    workdir: ~/muster
    data_dirs: [/data/imagenet]
    subset: ['!gpu', '!code', '!tools']
"""

RETURN = r"""
ansible_facts:
  description: Facts to add to C(ansible_facts). Null is what could not be known from there.
  returned: always
  type: dict
  contains:
    node:
      description: What the node is.
      returned: always
      type: dict
      contains:
        hostname:
          description: The name the kernel gives the node.
          type: str
        machine_id:
          description: The installation, from C(/etc/machine-id).
          type: str
        boot_id:
          description: The boot of the kernel. Containers of one machine have the same.
          type: str
        user:
          description: Who the facts were gathered as.
          type: dict
          contains:
            name: {description: The name., type: str}
            uid: {description: The effective user id., type: int}
            home: {description: The home directory., type: str}
        cpus:
          description: The CPUs this user's processes may use.
          type: int
        net:
          description: How the node reaches others, IPv4.
          type: dict
          contains:
            addresses:
              description: >-
                Own addresses (C(address), C(interface)). The interface is null where the routes do not say it without
                doubt, as with several interfaces in one network.
              type: list
              elements: dict
            routes:
              description: Routes (C(destination), C(interface), C(gateway) or null, C(metric)).
              type: list
              elements: dict
            listening:
              description: TCP ports that somebody listens on.
              type: list
              elements: int
            holders:
              description: >-
                Of the O(ports) that somebody listens on, by port, the C(pid), C(command), C(run_id) and C(uid) of the
                process. Another user's process shows no more than its uid.
              type: dict
        workdir:
          description: The work directory.
          type: dict
          contains:
            path: {description: Its path without links., type: str}
            identity: {description: The same for two nodes that have the same directory of the same machine., type: str}
            writable: {description: Whether this user can write it or make it., type: bool}
            free_bytes: {description: Space left in bytes., type: int}
            filesystem: {description: 'Type of its file system, such as V(ext4) or V(nfs4).', type: str}
        code:
          description: The code.
          type: dict
          contains:
            path: {description: Its path., type: str}
            exists: {description: Whether the directory is there., type: bool}
            commit: {description: The commit., type: str}
            branch: {description: 'The branch, null when none is checked out.', type: str}
            dirty: {description: 'Whether files are changed, or new and not ignored.', type: bool}
            changes: {description: 'A digest of these changes, null where there are none.', type: str}
            source:
              description: >-
                What said so. V(git), or V(.muster-code.json), which the role C(code) leaves beside code that it brought
                without its C(.git). That file tells of the checkout it came from, not of what was changed here since.
              type: str
            why: {description: 'What nobody could look at, and the reason.', type: str}
        python:
          description: The training interpreter.
          type: dict
          contains:
            command: {description: As it was asked for., type: str}
            path: {description: 'Where it is, null when it was not found.', type: str}
        files:
          description: By name as asked for, C(path), C(exists), C(readable) and C(sha256) (null above 64 MiB).
          type: dict
        config:
          description: The configuration file.
          type: dict
          contains:
            path: {description: Its path., type: str}
            text: {description: 'Its content, null when it cannot be read whole.', type: str}
        systemd:
          description: What systemd would do for this user.
          type: dict
          contains:
            booted: {description: Whether systemd runs the machine., type: bool}
            linger: {description: Whether the user's services outlive the last session., type: bool}
        memlock:
          description: How much memory the ranks may lock, in bytes. V(-1) is unlimited.
          type: dict
          contains:
            soft: {description: The limit., type: int}
            hard: {description: How far this user can raise it., type: int}
            cap_ipc_lock:
              description: >-
                Whether the kernel does not count what is locked there (CAP_IPC_LOCK, and not in a user namespace).
              type: bool
            effective: {description: What comes of both., type: int}
        holder:
          description: >-
            Who holds the slot now (C(run_id), C(nonce), C(node), C(pid), C(since)), null when nobody does.
          type: dict
        limits:
          description: >-
            Other limits by name (V(nofile), V(nproc), V(stack)), each with C(soft) and C(hard). V(-1) is unlimited.
          type: dict
        container:
          description: The container that the node is.
          type: dict
          contains:
            kind:
              description: >-
                V(docker), V(podman), V(kubernetes), V(apptainer), V(lxc), V(systemd-nspawn) or another manager's own
                word. Null where nothing speaks for a container.
              type: str
            source: {description: What said so., type: str}
            pod: {description: 'Namespace and name of the pod, such as V(team/trainer-0).', type: str}
            shm_bytes: {description: Size of C(/dev/shm)., type: int}
            host_network: {description: Whether it has the network of its host., type: bool}
            host_ipc: {description: Whether it has the shared memory and semaphores of its host., type: bool}
        disks:
          description: File systems of O(workdir), O(code_dir), O(data_dirs), C(/dev/shm) and C(/tmp).
          type: list
          elements: dict
          contains:
            path: {description: The directory as it was asked for. It need not exist., type: str}
            mount_point: {description: Where its file system is mounted., type: str}
            filesystem: {description: 'Type of its file system, such as V(ext4) or V(nfs4).', type: str}
            size_bytes: {description: Size., type: int}
            free_bytes: {description: What this user may still write., type: int}
            free_inodes: {description: 'How many files more, null without such a limit.', type: int}
            read_only: {description: Whether it is mounted read-only., type: bool}
            writable: {description: Whether a file could be written. Null without O(probe_disks)., type: bool}
            write_error: {description: Why not., type: str}
        versions:
          description: >-
            Versions as files tell them. Nothing is imported and no program is started.
          type: dict
          contains:
            python: {description: 'The training interpreter, as V(3.11.2) or V(3.11).', type: str}
            torch: {description: 'PyTorch of the training interpreter, as V(2.6.0+cu124).', type: str}
            torch_cuda: {description: The CUDA that it was built for., type: str}
            torch_hip: {description: The HIP that it was built for., type: str}
            nccl: {description: 'NCCL as that PyTorch would load it, from its wheel or the system.', type: str}
            rccl: {description: 'RCCL of the system, null when PyTorch has its own (no file tells which).', type: str}
            rocm: {description: ROCm of the system., type: str}
            nvidia: {description: The loaded kernel module C(nvidia)., type: str}
            nvidia_peermem: {description: The loaded kernel module C(nvidia_peermem)., type: str}
            amdgpu: {description: 'The loaded kernel module C(amdgpu), if it has a version of its own.', type: str}
            mlx5: {description: 'The loaded kernel module C(mlx5_core), if it is not the kernel''s own.', type: str}
            site_packages:
              description: >-
                Where the training interpreter looks for packages. Null where files alone do not tell it for certain.
              type: list
              elements: str
            sources: {description: 'By name, the file or directory that told the version.', type: dict}
        tools:
          description: Versions of container runtimes and schedulers in this user's E(PATH), by their own word.
          type: dict
          contains:
            docker: {description: The command of Docker., type: str}
            podman: {description: Podman., type: str}
            apptainer: {description: Apptainer or Singularity., type: str}
            slurm: {description: Slurm., type: str}
        kernel:
          description: The kernel.
          type: dict
          contains:
            release: {description: Its release., type: str}
            command_line:
              description: 'The words of its command line about PCI and memory, such as V(iommu=pt), in order.'
              type: list
              elements: str
            numa_balancing: {description: 'V(0) when it is off.', type: int}
            numa_nodes: {description: How many NUMA nodes are online., type: int}
            transparent_hugepage: {description: 'V(always), V(madvise) or V(never).', type: str}
            modules:
              description: Of the modules for GPUs and RDMA those that are loaded.
              type: list
              elements: str
            memory_peers:
              description: 'Drivers that offer their memory to RDMA, such as V(nv_mem) or V(amdkfd).'
              type: list
              elements: str
            rdma_netns:
              description: >-
                V(shared) when every network namespace sees all RDMA devices, V(exclusive) when each device is in one.
              type: str
        timings:
          description: What each part took, in milliseconds. Parts are looked at side by side.
          type: dict
        clock:
          description: The node's clock.
          type: dict
          contains:
            wall: {description: Its seconds since the epoch when it was read., type: float}
            asked: {description: O(asked_at)., type: float}
            synchronized: {description: Whether somebody keeps it right. A hypervisor may do so unseen., type: bool}
            source: {description: 'What said so, V(adjtimex) or a file.', type: str}
        names:
          description: >-
            By name (its own host name and O(names)), C(addresses), C(source) (V(/etc/hosts), V(resolver) or null) and
            C(error), which is why there is no address.
          type: dict
        devices:
          description: Device nodes of GPUs and RDMA adapters. None of them is opened.
          type: list
          elements: dict
          contains:
            path: {description: Its path., type: str}
            mode: {description: 'Its mode in octal digits, such as V(0666).', type: str}
            uid: {description: Its owner., type: int}
            gid: {description: Its group., type: int}
            readable: {description: Whether its mode lets this user read it., type: bool}
            writable: {description: Whether its mode lets this user write it., type: bool}
        engine:
          description: The container engine, as O(docker) asks it.
          type: dict
          contains:
            command: {description: O(docker)., type: list, elements: str}
            version: {description: "The engine's, or the client's where the engine does not answer.", type: str}
            running: {description: 'V(false) where there is none that is up, null where we may not ask.', type: bool}
            why: {description: Why it does not answer or what it could not tell., type: str}
            denied: {description: Whether sudo does not let this user call it., type: bool}
            compose: {description: The version of the compose plugin., type: str}
            root_dir: {description: Where it keeps images and containers., type: str}
            containers: {description: How many run., type: int}
            gpu_containers: {description: Names of those that were given GPUs., type: list, elements: str}
            images: {description: 'Of O(images), by name, C(id) and C(digests). Null, it has none.', type: dict}
            runtimes: {description: Its runtimes., type: list, elements: str}
            cdi: {description: Whether a specification of CDI devices names NVIDIA's GPUs., type: bool}
            default_memlock:
              description: Bytes that a container may lock by default. V(-1) is unlimited.
              type: int
            memlock_source: {description: What said so., type: str}
        reach:
          description: What came of connecting to O(reach).
          type: list
          elements: dict
          contains:
            address: {description: The address., type: str}
            port: {description: The port., type: int}
            result:
              description: >-
                V(connected), V(refused) (the host answers, nobody listens), V(timeout), V(unreachable) or V(unknown).
              type: str
            error: {description: What the system said., type: str}
        kernel_log:
          description: What the kernel's log of this boot says of GPUs and adapters.
          type: dict
          contains:
            readable: {description: Whether it could be read. If not no errors means nothing., type: bool}
            why: {description: Why not., type: str}
            errors:
              description: The errors, those of one kind, code and device as one.
              type: list
              elements: dict
              contains:
                kind: {description: 'V(xid), V(sxid), V(ras) or V(mlx5).', type: str}
                code: {description: The number of an XID or SXid., type: int}
                device: {description: PCI address., type: str}
                text: {description: The first such line., type: str}
                monotonic_s: {description: Seconds from the boot to the last such line., type: float}
                count: {description: How many such lines., type: int}
            source: {description: V(journalctl) or V(dmesg)., type: str}
            complete: {description: Whether it goes back to the boot., type: bool}
        processes:
          description: Processes that matter to a run. Of each C(pid), C(uid), C(command) and C(run_id), as far as told.
          type: dict
          contains:
            gpu: {description: 'Those that compute on GPUs, with C(device).', type: list, elements: dict}
            runs: {description: Those that carry the mark of a run., type: list, elements: dict}
            hung: {description: 'Those that hang in the kernel, where is C(wait).', type: list, elements: dict}
            hidden: {description: Of how many it cannot be known whether they are of a run., type: int}
        memory:
          description: Main memory.
          type: dict
          contains:
            total_bytes: {description: All of it., type: int}
            available_bytes: {description: What can be had without swapping., type: int}
            swap_bytes: {description: Swap space., type: int}
            hugepages: {description: How many huge pages are set aside., type: int}
            governor: {description: "The CPUs' frequency governor, all of them where they differ.", type: str}
        sudo:
          description: Whether this user becomes root.
          type: dict
          contains:
            passwordless: {description: Whether without a password., type: bool}
            why: {description: What sudo said., type: str}
        interfaces:
          description: >-
            Network interfaces with a device or a route, by name, C(state), C(mtu), C(speed_mbps) (Mb/s) and
            C(carrier_changes).
          type: dict
        gpu_health:
          description: How the GPUs are.
          type: dict
          contains:
            devices:
              description: Each GPU. What its vendor or tool does not tell is null.
              type: list
              elements: dict
              contains:
                index: {description: Its number among whole GPUs., type: int}
                pci_address: {description: Its PCI address., type: str}
                uuid: {description: Its UUID., type: str}
                ecc_mode: {description: V(enabled) or V(disabled)., type: str}
                ecc_pending: {description: The mode after the next reboot., type: str}
                ecc_uncorrected: {description: Errors not corrected since the driver was loaded., type: int}
                remap_pending: {description: Whether rows of memory wait for a reset to be replaced., type: bool}
                remap_failure: {description: Whether rows could not be replaced., type: bool}
                link_width: {description: Lanes of its PCIe link., type: int}
                link_width_max: {description: Lanes it could have., type: int}
                link_gen: {description: Generation of the link. It is lower while a GPU is idle., type: int}
                link_gen_max: {description: Generation it could have., type: int}
                throttle: {description: Reasons of a slower clock that are more than idling., type: list, elements: str}
                persistence: {description: Whether the driver stays loaded., type: bool}
                nvlinks_down: {description: Numbers of NVLinks without a peer., type: list, elements: int}
                bad_pages: {description: Pages of memory put aside (AMD)., type: int}
                temperature_c: {description: Degrees Celsius., type: int}
                fabric_state: {description: 'V(Completed) when it is part of the NVLink fabric.', type: str}
                trouble: {description: 'What the tool says instead of values, such as V(GPU is lost).', type: str}
            fabric_manager:
              description: >-
                NVIDIA's fabric manager, C(needed) (the node has NVSwitches), C(active) and C(state), which is systemd's
                word.
              type: dict
            why: {description: Why counters are unknown., type: str}
    rdma:
      description: The RDMA devices, as M(muster.train.rdma_facts) returns them.
      returned: when O(subset) has V(rdma)
      type: dict
    gpu:
      description: The GPUs, as M(muster.train.gpu_facts) returns them.
      returned: when O(subset) has V(gpu)
      type: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.muster.train.plugins.module_utils._host import require_python  # noqa: F401

# isort: split
from ansible_collections.muster.train.plugins.module_utils._facts.gather import gather
from ansible_collections.muster.train.plugins.module_utils._facts.query import FactsQuery
from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.subsets import CHOICES, select
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "root": {"type": "path", "default": "/"},
            "workdir": {"type": "path", "default": "~/muster"},
            "code_dir": {"type": "path"},
            "python": {"type": "str", "default": "python3"},
            "files": {"type": "list", "elements": "str", "default": []},
            "config": {"type": "str"},
            "ports": {"type": "list", "elements": "int", "default": []},
            "slot": {"type": "str", "default": "default"},
            "data_dirs": {"type": "list", "elements": "path", "default": []},
            "asked_at": {"type": "float"},
            "names": {"type": "list", "elements": "str", "default": []},
            "docker": {"type": "list", "elements": "str", "default": ["docker"]},
            "images": {"type": "list", "elements": "str", "default": []},
            "reach": {"type": "list", "elements": "str", "default": []},
            "as_root": {"type": "list", "elements": "str", "default": []},
            "probe_disks": {"type": "bool", "default": False},
            "subset": {
                "type": "list",
                "elements": "str",
                "aliases": ["gather_subset"],
                "choices": list(CHOICES),
                "default": ["all"],
            },
        },
        supports_check_mode=True,
    )
    params = module.params
    directories = {"workdir": [params["workdir"]], "code_dir": [params["code_dir"]], "data_dirs": params["data_dirs"]}
    for name, paths in directories.items():
        for path in paths:
            if path is not None and not path.startswith("/"):
                module.fail_json(msg=f"{name} must be an absolute path on the node, or begin with ~; it is {path!r}")
    asked = FactsQuery(
        workdir=params["workdir"],
        code_dir=params["code_dir"] or params["workdir"],
        python=params["python"],
        files=tuple(params["files"]),
        config=params["config"],
        ports=tuple(params["ports"]),
        slot=params["slot"],
        data_dirs=tuple(params["data_dirs"]),
        subset=select(params["subset"]),
        asked_at=params["asked_at"],
        names=tuple(params["names"]),
        docker=tuple(params["docker"] or ["docker"]),
        images=tuple(params["images"]),
        reach=tuple(params["reach"]),
        as_root=tuple(params["as_root"]),
        probe_disks=params["probe_disks"] and not module.check_mode,
    )
    host = Host(params["root"])
    if not host.is_dir("/"):
        module.warn(f"root {host.root} is not a directory: nothing can be seen there")
    gathered = gather(host, asked)
    for warning in gathered.warnings:
        module.warn(clean(f"{gathered.node.hostname}: {warning}"))
    module.exit_json(changed=False, ansible_facts=gathered.to_facts(asked))


if __name__ == "__main__":
    main()
