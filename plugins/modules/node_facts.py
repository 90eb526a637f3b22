# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gather everything that a launch needs to know about a node, in one execution."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_facts
short_description: Gather what a launch needs to know about a node
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Returns the facts from which a launch is planned, in one execution.
  - Nothing on the node is changed (but see O(node) and O(probe_disks)) and nothing is decided.
  - It also returns the node's health, for preflight. With another O(root), parts that a directory tree does not
    contain are null, such as the clock, the engine, the kernel log, V(sudo) and reachability.
  - What cannot be read is null, with a warning that gives the reason. A part that hangs is abandoned after ten seconds,
    and the others are returned. The facts include the time that each part took.
options:
  workdir:
    description:
      - The node's work directory. It does not have to exist.
      - C(~) and C($VARIABLES) are expanded for the user on the node.
    type: path
    default: ~/muster
  code_dir:
    description:
      - Directory with the code, in which the ranks run. Relative paths in other options start here.
      - The default is O(workdir).
    type: path
  python:
    description: >-
      Python interpreter of the ranks, as a name in E(PATH) or as a path. A relative path starts at O(code_dir).
    type: str
    default: python3
  python_path: {description: "The E(PYTHONPATH) of the ranks, instead of the login's.", type: str}
  files: {description: 'Files to check, such as the script.', type: list, elements: str, default: []}
  config:
    description: The launch's configuration file. Its content is returned if it is UTF-8 of at most 256 KiB.
    type: str
  ports: {description: TCP ports for which to return the listening process., type: list, elements: int, default: []}
  node:
    description:
      - The node's name in the inventory, under which the work directory has its slots and runs.
      - With it, whether flock(2) works in O(workdir) is tried on file systems without unnamed files too (NFS). An empty
        hidden file is created and removed there, not in check mode.
    type: str
  slot: {description: Slot of O(node) for which to return the holder., type: str, default: default}
  data_dirs:
    description: Data directories whose file systems to return in addition to those of O(workdir) and O(code_dir).
    type: list
    elements: path
    default: []
  asked_at:
    description: Time on the controller in seconds since the epoch. It is returned with the node's time.
    type: float
  names: {description: "Names to resolve, in addition to the node's own.", type: list, elements: str, default: []}
  images: {description: 'Container images to look up, by tag or digest.', type: list, elements: str, default: []}
  compose_file:
    description:
      - A compose file. With it, V(inherited) has what the containers of O(compose_service) inherit.
      - A relative path starts at O(code_dir).
    type: str
  compose_service: {description: The service in O(compose_file)., type: str, default: train}
  profiler:
    description:
      - A profiler to look for, on the node or, with O(compose_file), in a container that is started for a moment.
    type: str
    choices: [rocprofv3, nsys]
  script:
    description:
      - A Python script that O(python) reads, without running it. A relative path starts at O(code_dir).
    type: str
  image:
    description:
      - An image of Apptainer on the node. With it, the interpreter O(python) is started in it for a moment, which shows
        whether an image can be run here and what is in it.
    type: str
  apptainer:
    description: Command that runs Apptainer on the node, as a list.
    type: list
    elements: str
    default: [apptainer]
  apptainer_options: {description: Options for C(apptainer exec)., type: list, elements: str, default: []}
  binds:
    description: What is bound into O(image), as C(SOURCE[:DESTINATION[:OPTIONS]]).
    type: list
    elements: str
    default: []
  reach:
    description: Ports to connect to, as V(10.0.0.1:29500), V([fd00::1]:29500) or V(head:29500). Nothing is sent.
    type: list
    elements: str
    default: []
  as_root:
    description: Prefix for the commands that read the kernel log, such as V([sudo, -n]).
    type: list
    elements: str
    default: []
  probe_disks:
    description:
      - Whether to test by writing that O(workdir) and C(/tmp) are writable. An unnamed file of 4 KiB is created in the
        directory, or in the closest existing parent, and removed. If the file system does not support unnamed files,
        the file has a name for that moment, but then a git checkout is not tested.
      - There is no test in check mode, and never in O(code_dir) and O(data_dirs).
    type: bool
    default: false
  subset:
    description:
      - The parts to gather, as for M(ansible.builtin.setup). The others are null.
      - A name adds a part, V(all) adds all, and a name after C(!) removes one (from all, if nothing is added).
      - V(min) is always gathered. It is the identity, the work directory and the interpreter. V(!min) has no effect.
      - V(rdma) and V(gpu) become separate facts. V(gpu), V(gpu_health), V(gpu_processes), V(code),
        V(tools), V(engine), V(kernel_log), V(sudo), V(services), O(profiler), O(script), O(image) and,
        with O(compose_file), V(inherited) run commands, the others do not.
    type: list
    elements: str
    aliases: [gather_subset]
    choices: [
      all, min, net, rdma, gpu, code, files, limits, slot, container, disk, versions, tools, kernel, inherited, clock,
      names, devices, engine, reach, kernel_log, processes, memory, sudo, interfaces, gpu_health, gpu_processes,
      rdma_health, services, '!all',
      '!min', '!net', '!rdma', '!gpu', '!code', '!files', '!limits', '!slot', '!container', '!disk', '!versions',
      '!tools', '!kernel', '!inherited', '!clock', '!names', '!devices', '!engine', '!reach', '!kernel_log',
      '!processes', '!memory', '!sudo', '!interfaces', '!gpu_health', '!gpu_processes',
      '!rdma_health', '!services']
    default: [all]
  as_text:
    description:
      - Whether to return the facts as one text. Ansible copies and checks each value of a result several times, which
        takes a controller with many nodes much of its time.
    type: bool
    default: false
extends_documentation_fragment:
  - muster.train.options.docker
  - muster.train.options.root
  - muster.train.attributes
  - muster.train.attributes.facts
"""

EXAMPLES = r"""
- name: Gather everything that a launch needs to know about this node
  muster.train.node_facts:
    workdir: ~/muster
    code_dir: ~/muster/code
    python: venv/bin/python
    files: [train.py]
    config: configs/model.yaml
    ports: [29500]

- name: Gather only the network of the host, from a container with the host's tree under /host
  muster.train.node_facts:
    root: /host
    workdir: /var/lib/muster
    subset: [net]

- name: Gather everything that needs no commands
  muster.train.node_facts:
    workdir: ~/muster
    data_dirs: [/data/imagenet]
    subset: ['!gpu', '!code', '!tools']
"""

RETURN = r"""
ansible_facts:
  description: Facts to add to C(ansible_facts). A value that could not be determined is null.
  returned: unless O(as_text) is set
  type: dict
  contains:
    node:
      description: The facts of the node.
      returned: always
      type: dict
      contains:
        hostname: {description: The name the kernel gives the node., type: str}
        machine_id: {description: 'The installation, from C(/etc/machine-id).', type: str}
        boot_id: {description: The boot of the kernel. Containers of one machine have the same., type: str}
        user:
          description: The user that gathered the facts.
          type: dict
          contains:
            name: {description: The name., type: str}
            uid: {description: The effective user id., type: int}
            home: {description: The home directory., type: str}
        cpus: {description: The CPUs that the ranks may use by affinity and control groups., type: int}
        net:
          description: Addresses, routes and listening ports.
          type: dict
          contains:
            addresses:
              description: >-
                The node's addresses (C(address), C(interface)). The interface is null if the kernel cannot be asked for
                it and the routes do not determine it, as with several interfaces in one network. IPv6 addresses of the
                link alone, temporary ones and those that are not yet confirmed are left out.
              type: list
              elements: dict
            routes:
              description: Routes (C(destination), C(interface), C(gateway) or null, C(metric)).
              type: list
              elements: dict
            listening: {description: TCP ports on which a process listens., type: list, elements: int}
            holders:
              description: >-
                For each of the O(ports) on which a process listens, its C(pid), C(command), C(run_id) and C(uid). Of
                another user's process only the uid is known.
              type: dict
            rules:
              description: >-
                The rules of policy routing that new connections follow into other tables than the usual ones
                (C(priority), C(destination) or null, C(table), C(ipv6)); null if C(ip rule) failed.
              type: list
              elements: dict
            speeds: {description: 'Speed in Mb/s of each interface that has an address and is up.', type: dict}
            port_range: {description: First and last port that the kernel chooses., type: list, elements: int}
            namespace: {description: 'Inode of the network namespace, null if it is not known.', type: str}
        workdir:
          description: The work directory.
          type: dict
          contains:
            path: {description: Its path without links., type: str}
            identity: {description: Equal for two nodes that are the same machine with the same directory., type: str}
            writable: {description: Whether this user can write or create it., type: bool}
            free_bytes: {description: Space left in bytes., type: int}
            filesystem: {description: 'Type of its file system, such as V(ext4) or V(nfs4).', type: str}
            flock: {description: 'Whether flock(2) works there, null if it was not tried.', type: bool}
            flock_error: {description: Why flock(2) does not work., type: str}
            untrusted:
              description: >-
                The first directory on its path that a user other than root and this one could change (C(path), C(uid)
                and C(mode) of it), null if there is none.
              type: dict
        code:
          description: The code.
          type: dict
          contains:
            path: {description: Its path., type: str}
            exists: {description: Whether the directory exists., type: bool}
            commit: {description: The commit., type: str}
            branch: {description: 'The branch, null when none is checked out.', type: str}
            dirty:
              description: >-
                Whether files are changed, or new and not ignored. New files count only if an import can reach them
                (modules and native libraries, below directories with names of packages) or if O(files) has them.
              type: bool
            changes: {description: 'A digest of these changes, null if there are none.', type: str}
            source:
              description: >-
                The source of commit, branch and changes. V(git), or V(.muster-code.json), which the role C(code)
                writes beside code that it copied without C(.git). It describes the original checkout, not later
                changes on the node.
              type: str
            why: {description: 'What could not be read, and the reason.', type: str}
            tree:
              description: >-
                Without git, a digest of names and content of all files that an import can reach, except those that the
                role C(code) does not copy. Links to directories are not followed.
              type: str
            files:
              description: >-
                The files of C(changes), or of C(tree), each with the beginning of a digest of its content, empty for a
                deleted file; at most 500.
              type: dict
            uncompared:
              description: >-
                Why the files were not compared, which is so for more than 5,000 files, a file above 64 MiB, more than
                256 MiB in total, more than 200,000 files and directories, more than 3 seconds, and a failure to read.
              type: str
        python:
          description: The training interpreter.
          type: dict
          contains:
            command: {description: The requested name or path., type: str}
            path: {description: 'Its path, null if it was not found.', type: str}
        files:
          description: >-
            For each requested file, C(path), C(exists), C(readable), C(sha256) (null above 64 MiB) and C(beside), the
            files with its ending in its directory, if it does not exist.
          type: dict
        config:
          description: The configuration file.
          type: dict
          contains:
            path: {description: Its path., type: str}
            text: {description: 'Its content, null if it cannot be read completely.', type: str}
        systemd:
          description: What systemd offers this user.
          type: dict
          contains:
            booted: {description: Whether the machine was booted with systemd., type: bool}
            linger: {description: Whether the user's services survive the last session., type: bool}
            kill_user_processes:
              description: >-
                Whether logind.conf says that this user's processes end with their session (C(KillUserProcesses),
                C(KillOnlyUsers), C(KillExcludeUsers)), null if it does not say.
              type: bool
            remove_ipc:
              description: Whether logind.conf says that a user's shared memory ends with the last session, or null.
              type: bool
            in_session:
              description: Whether the login's processes are in a logind session, null if that is not known.
              type: bool
        memlock:
          description: How much memory the ranks may lock, in bytes. V(-1) is unlimited.
          type: dict
          contains:
            soft: {description: The limit., type: int}
            hard: {description: The limit up to which this user can raise it., type: int}
            cap_ipc_lock:
              description: Whether the limit does not apply (CAP_IPC_LOCK outside of a user namespace).
              type: bool
            effective: {description: The effective limit., type: int}
        holder:
          description: >-
            The run that holds the slot (C(run_id), C(nonce), C(node), C(pid), C(since), C(user)), or the first launch
            that waits for it (C(waits), and C(admitted) if it starts now). Null if the slot is free.
          type: dict
        cpu_limit: {description: 'How many of them control groups leave (C(cpu.max)), null without a limit.', type: int}
        limits:
          description: >-
            Other limits by name (V(nofile), V(nproc), V(stack)), each with C(soft) and C(hard). V(-1) is unlimited.
          type: dict
        container:
          description: The container in which the node runs.
          type: dict
          contains:
            kind:
              description: >-
                V(docker), V(podman), V(kubernetes), V(apptainer), V(lxc), V(systemd-nspawn) or the name that another
                manager uses. Null if there is no sign of a container.
              type: str
            source: {description: The source of this information., type: str}
            pod: {description: 'Namespace and name of the pod, such as V(team/trainer-0).', type: str}
            shm_bytes: {description: Size of C(/dev/shm)., type: int}
            host_network: {description: Whether it has the network of its host., type: bool}
            host_ipc: {description: Whether it has the shared memory and semaphores of its host., type: bool}
        disks:
          description: File systems of O(workdir), O(code_dir), O(data_dirs), C(/dev/shm) and C(/tmp).
          type: list
          elements: dict
          contains:
            path: {description: The requested directory. It does not have to exist., type: str}
            mount_point: {description: Mount point of its file system., type: str}
            filesystem: {description: 'Type of its file system, such as V(ext4) or V(nfs4).', type: str}
            size_bytes: {description: Size., type: int}
            free_bytes: {description: Space that this user can still use., type: int}
            free_inodes: {description: 'Number of free inodes, null without such a limit.', type: int}
            read_only: {description: Whether it is mounted read-only., type: bool}
            writable: {description: Whether a file could be written. Null without O(probe_disks)., type: bool}
            write_error: {description: The reason if not., type: str}
            is_workdir: {description: Whether this is O(workdir)., type: bool}
            usable:
              description: Whether this user may create files in it; for root, also whether no other can replace it.
              type: bool
        versions:
          description: Versions, read from files. Nothing is imported and no program is started.
          type: dict
          contains:
            python: {description: 'The training interpreter, as V(3.11.2) or V(3.11).', type: str}
            torch: {description: 'PyTorch of the training interpreter, as V(2.6.0+cu124).', type: str}
            torch_cuda: {description: The CUDA version that it was built for., type: str}
            torch_hip: {description: The HIP version that it was built for., type: str}
            accelerate: {description: Hugging Face Accelerate of the training interpreter., type: str}
            deepspeed: {description: DeepSpeed of the training interpreter., type: str}
            nccl: {description: 'NCCL that this PyTorch would load, from its wheel or the system.', type: str}
            rccl: {description: 'RCCL of the system, null if PyTorch has its own, of unknown version.', type: str}
            rocm: {description: ROCm of the system., type: str}
            nvidia: {description: The loaded kernel module C(nvidia)., type: str}
            nvidia_peermem: {description: The loaded kernel module C(nvidia_peermem)., type: str}
            amdgpu: {description: 'The loaded kernel module C(amdgpu), if it has a version of its own.', type: str}
            mlx5: {description: 'The loaded kernel module C(mlx5_core), if it is not the kernel''s own.', type: str}
            site_packages:
              description: >-
                Where the training interpreter searches for packages. Null if files alone do not determine it.
              type: list
              elements: str
            python_path: {description: O(python_path) as it was used., type: str}
            sources: {description: 'By name, the file or directory with the version.', type: dict}
        tools:
          description: Versions of container runtimes and schedulers in this user's E(PATH), as they report them.
          type: dict
          contains:
            docker: {description: The command of Docker., type: str}
            podman: {description: Podman., type: str}
            apptainer: {description: Apptainer or Singularity., type: str}
            slurm: {description: Slurm., type: str}
        profiler:
          description: O(profiler), null if it was not looked for.
          type: dict
          contains:
            path: {description: 'How it is started there, null if it was not found.', type: str}
            version: {description: The version that it prints., type: str}
            why: {description: Why it could not be looked for., type: str}
        script:
          description: O(script), null if it was not asked for, or is not a file whose name ends in C(.py).
          type: dict
          contains:
            path: {description: Its path., type: str}
            line: {description: The line of the fault., type: int}
            fault: {description: 'What is wrong in its syntax, null if nothing is.', type: str}
            missing:
              description:
                - Modules that it imports and that O(python) does not have.
                - Only imports at its beginning count, up to the first other statement or the first module that is not
                  part of an installed package, because those can change where modules are found.
              type: list
              elements: str
            why: {description: Why it could not be read., type: str}
        apptainer:
          description: Apptainer and O(image), null if none is asked for.
          type: dict
          contains:
            image: {description: The path of the image., type: str}
            exists: {description: Whether it exists., type: bool}
            version: {description: 'The version of Apptainer, null if it was not found.', type: str}
            identity: {description: 'The ID of the build of a SIF, null for other images.', type: str}
            has_python:
              description: Whether O(python) runs in the image, null if nothing could be run in it.
              type: bool
            why: {description: Why nothing could be run in it., type: str}
            python: {description: The version of Python in the image., type: str}
            torch: {description: The version of PyTorch in the image., type: str}
            nccl: {description: The version of NCCL in the image., type: str}
            variables: {description: Variables for NCCL and PyTorch that the image sets., type: dict}
            binds:
              description: >-
                Whether the sources of O(binds) exist on the node; and those of C(/etc/nccl.conf) and C(/etc/rccl.conf)
                that exist, and the topology files that these name.
              type: dict
            links: {description: 'Directories of a run that lie behind links, and where.', type: dict}
            infiniband: {description: Whether the image sees C(/dev/infiniband)., type: bool}
            fuse: {description: Whether this user may open C(/dev/fuse)., type: bool}
            user_namespaces: {description: Whether the kernel's settings let users create user namespaces., type: bool}
        kernel:
          description: The kernel.
          type: dict
          contains:
            release: {description: Its release., type: str}
            command_line:
              description: 'Its parameters for PCI and memory, such as V(iommu=pt), in order.'
              type: list
              elements: str
            numa_balancing: {description: 'V(0) when it is off.', type: int}
            numa_nodes: {description: Number of NUMA nodes that are online., type: int}
            transparent_hugepage: {description: 'V(always), V(madvise) or V(never).', type: str}
            modules: {description: Loaded modules for GPUs and RDMA., type: list, elements: str}
            memory_peers:
              description: 'Drivers that offer their memory to RDMA, such as V(nv_mem) or V(amdkfd).'
              type: list
              elements: str
            rdma_netns:
              description: >-
                V(shared) if every network namespace sees all RDMA devices, V(exclusive) if each device is in one.
              type: str
        inherited:
          description:
            - The variables for NCCL, RCCL, Gloo, PyTorch, CUDA, HIP and ROCr that processes get without any launch
              setting them, a dict per source, the strongest first.
            - C(kind) is V(login) (the environment of this user's commands), V(image) (a compose service or its image),
              V(nccl) or V(rccl) (a configuration file of that library). C(source) names it. C(variables) has them.
            - C(in_container) is whether it holds in the service's containers, or for processes of the node.
          type: list
          elements: dict
          sample:
            - {kind: login, source: login, variables: {NCCL_DEBUG: INFO}, in_container: false}
            - {kind: nccl, source: /etc/nccl.conf, variables: {NCCL_IB_DISABLE: '1'}, in_container: false}
        slurm:
          description: The step of a Slurm job that the facts were gathered in, null outside of any.
          type: dict
          contains:
            job: {description: The ID of the job., type: str}
            step:
              description: The number of the step, C(extern) for a login that Slurm took into the job, or C(batch).
              type: str
            node: {description: 'The name of the node in Slurm, null if it is not known.', type: str}
            is_tracked: {description: Whether Slurm ends all processes of the step with it., type: bool}
            memory_bytes: {description: 'How much of the memory the job may use, null for all of it.', type: int}
        timings: {description: Duration of each part in milliseconds. Parts are gathered in parallel., type: dict}
        clock:
          description: The node's clock.
          type: dict
          contains:
            wall: {description: Its time in seconds since the epoch., type: float}
            asked: {description: O(asked_at)., type: float}
            synchronized: {description: Whether it is synchronized. A hypervisor may do so unnoticed., type: bool}
            source: {description: 'The source of this information, V(adjtimex) or a file.', type: str}
        names:
          description: >-
            By name (its own host name and O(names)), C(addresses), C(source) (V(/etc/hosts), V(resolver) or null),
            C(error), the reason if there is no address, C(ms), the milliseconds that took (at most 5000), and
            C(reverse_ms), those of finding the name of its first address (at most 4000, null without one).
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
            version: {description: "The engine's version, or the client's if the engine does not answer.", type: str}
            running: {description: 'V(false) if no engine is running, null if the user may not use it.', type: bool}
            why: {description: Why it does not answer or what could not be determined., type: str}
            compose: {description: The version of the Compose plugin., type: str}
            root_dir: {description: Directory of images and containers., type: str}
            containers: {description: Number of running containers., type: int}
            gpu_containers: {description: Names of running containers with GPUs., type: list, elements: str}
            images: {description: 'For each of O(images), C(id) and C(digests), or null if it is missing.', type: dict}
            runtimes: {description: Its runtimes., type: list, elements: str}
            cdi: {description: Whether a specification of CDI devices names NVIDIA's GPUs., type: bool}
            default_memlock: {description: Bytes that a container may lock by default. V(-1) is unlimited., type: int}
            memlock_source: {description: The source of this information., type: str}
            denied: {description: Whether sudo refuses to run it for this user., type: bool}
        reach:
          description: The results of connecting to O(reach).
          type: list
          elements: dict
          contains:
            address: {description: The address., type: str}
            port: {description: The port., type: int}
            result:
              description: >-
                V(connected), V(refused) (nothing listens on the port), V(timeout), V(unreachable) or V(unknown).
              type: str
            error: {description: The system's error message., type: str}
        kernel_log:
          description: Errors of GPUs and adapters in the kernel log of this boot.
          type: dict
          contains:
            readable: {description: 'Whether it could be read. If not, the list of errors is incomplete.', type: bool}
            why: {description: The reason if not., type: str}
            errors:
              description: The errors, grouped by kind, code and device.
              type: list
              elements: dict
              contains:
                kind:
                  description: >-
                    V(xid), V(sxid), V(remap) (pending), V(bus) (fallen off it), V(init) (failed), V(gsp), V(nvlink),
                    V(ras), V(reset failed), V(ring) (timeout) or V(mlx5).
                  type: str
                code: {description: The number of an XID or SXid., type: int}
                device: {description: PCI address., type: str}
                text: {description: The first such line., type: str}
                monotonic_s: {description: Seconds from the boot to the last such line., type: float}
                count: {description: How many such lines., type: int}
                reset_s: {description: 'Seconds from the boot to a later reset of the device.', type: float}
            source: {description: V(journalctl) or V(dmesg)., type: str}
            complete: {description: Whether it goes back to the boot., type: bool}
        processes:
          description: Processes that matter to runs, with C(pid), C(uid), C(command) and C(run_id), null if unknown.
          type: dict
          contains:
            runs: {description: Those that have the mark of a run., type: list, elements: dict}
            hung: {description: 'Those that hang in the kernel; C(wait) is where.', type: list, elements: dict}
            hidden: {description: 'Number of processes that may belong to a run, but cannot be read.', type: int}
        memory:
          description: Main memory.
          type: dict
          contains:
            total_bytes: {description: Total memory., type: int}
            available_bytes: {description: Memory that is available without swapping., type: int}
            swap_bytes: {description: Swap space., type: int}
            hugepages: {description: Number of reserved huge pages., type: int}
            governor: {description: "The CPUs' frequency governor, all of them where they differ.", type: str}
            limit_bytes: {description: What control groups leave this process., type: int}
        sudo:
          description: Whether this user can become root.
          type: dict
          contains:
            passwordless: {description: Whether without a password., type: bool}
            why: {description: The output of sudo., type: str}
        interfaces:
          description: >-
            Network interfaces with a device or a route, by name, C(state), C(mtu), C(speed_mbps) (Mb/s) and
            C(carrier_changes).
          type: dict
        gpu_health:
          description: The health of the GPUs.
          type: dict
          contains:
            devices:
              description: The GPUs. Values that the vendor or tool does not have are null.
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
                link_width_max: {description: Maximum number of lanes., type: int}
                link_gen: {description: Generation of the link. It is lower while a GPU is idle., type: int}
                link_gen_max: {description: Maximum generation., type: int}
                throttle: {description: Reasons for a slower clock other than being idle., type: list, elements: str}
                persistence: {description: Whether the driver stays loaded., type: bool}
                nvlinks_down: {description: Numbers of NVLinks without a peer., type: list, elements: int}
                bad_pages: {description: Retired pages of memory (AMD)., type: int}
                temperature_c: {description: Degrees Celsius., type: int}
                load_percent: {description: Part of the last sample in which it computed., type: int}
                memory_used_mib: {description: Memory that is used in MiB., type: int}
                fabric_state: {description: 'V(Completed) when it is part of the NVLink fabric.', type: str}
                trouble: {description: 'What the tool prints instead of values, such as V(GPU is lost).', type: str}
            fabric_manager:
              description: >-
                NVIDIA's fabric manager, C(needed) (the node has NVSwitches), C(active) and C(state), which is systemd's
                word.
              type: dict
            why: {description: The reason if counters are unknown., type: str}
        gpu_processes:
          description: >-
            Processes that compute on GPUs, with C(pid), C(uid), C(command), C(run_id), C(device), C(user) and C(rank),
            null if unknown.
          type: list
          elements: dict
        rdma_health:
          description: What surrounds the RDMA devices.
          type: dict
          contains:
            iommu:
              description: >-
                By the PCI address of a device, the type of its IOMMU domain, V(identity) (passthrough), V(DMA) or
                V(DMA-FQ) (addresses are translated). Devices without an IOMMU are missing.
              type: dict
            acs_redirects:
              description: >-
                For each PCI bridge above a device, whether its Access Control Services send upstream what the devices
                below it send each other. Null where only root may read that.
              type: dict
            tools:
              description: 'The paths of programs for RDMA in this user''s E(PATH), such as V(ibstat), by name.'
              type: dict
        services:
          description: >-
            The services that run and from which logins, containers and jobs inherit their limits, by name, with
            the limits C(soft) and C(hard) of their locked memory in bytes. V(-1) is unlimited.
          type: dict
    rdma:
      description: The RDMA devices, as M(muster.train.rdma_facts) returns them.
      returned: when O(subset) has V(rdma)
      type: dict
    gpu:
      description: The GPUs, as M(muster.train.gpu_facts) returns them.
      returned: when O(subset) has V(gpu)
      type: dict
facts_text:
  description: What RV(ansible_facts) would have, in JSON.
  returned: if O(as_text) is set
  type: str
"""

import json

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.muster.train.plugins.module_utils._host.require_python import require_python

require_python()

from ansible_collections.muster.train.plugins.module_utils._facts.gather import gather
from ansible_collections.muster.train.plugins.module_utils._facts.query import FactsQuery
from ansible_collections.muster.train.plugins.module_utils._host.live import LiveHost
from ansible_collections.muster.train.plugins.module_utils._records.subsets import CHOICES, select
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "root": {"type": "path", "default": "/"},
            "workdir": {"type": "path", "default": "~/muster"},
            "code_dir": {"type": "path"},
            "python": {"type": "str", "default": "python3"},
            "python_path": {"type": "str"},
            "files": {"type": "list", "elements": "str", "default": []},
            "config": {"type": "str"},
            "ports": {"type": "list", "elements": "int", "default": []},
            "node": {"type": "str"},
            "slot": {"type": "str", "default": "default"},
            "data_dirs": {"type": "list", "elements": "path", "default": []},
            "asked_at": {"type": "float"},
            "names": {"type": "list", "elements": "str", "default": []},
            "docker": {"type": "list", "elements": "str", "default": ["docker"]},
            "images": {"type": "list", "elements": "str", "default": []},
            "compose_file": {"type": "str"},
            "compose_service": {"type": "str", "default": "train"},
            "profiler": {"type": "str", "choices": ["rocprofv3", "nsys"]},
            "script": {"type": "str"},
            "image": {"type": "str"},
            "apptainer": {"type": "list", "elements": "str", "default": ["apptainer"]},
            "apptainer_options": {"type": "list", "elements": "str", "default": []},
            "binds": {"type": "list", "elements": "str", "default": []},
            "reach": {"type": "list", "elements": "str", "default": []},
            "as_root": {"type": "list", "elements": "str", "default": []},
            "probe_disks": {"type": "bool", "default": False},
            "as_text": {"type": "bool", "default": False},
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
    query = FactsQuery(
        workdir=params["workdir"],
        code_dir=params["code_dir"] or params["workdir"],
        python=params["python"],
        python_path=params["python_path"],
        files=tuple(params["files"]),
        config=params["config"],
        ports=tuple(params["ports"]),
        node=params["node"],
        slot=params["slot"],
        data_dirs=tuple(params["data_dirs"]),
        subset=select(params["subset"]),
        asked_at=params["asked_at"],
        names=tuple(params["names"]),
        docker=tuple(params["docker"] or ["docker"]),
        images=tuple(params["images"]),
        compose_file=params["compose_file"],
        compose_service=params["compose_service"],
        profiler=params["profiler"],
        script=params["script"],
        image=params["image"],
        apptainer=tuple(params["apptainer"] or ["apptainer"]),
        apptainer_options=tuple(params["apptainer_options"]),
        binds=tuple(params["binds"]),
        reach=tuple(params["reach"]),
        as_root=tuple(params["as_root"]),
        probe_disks=params["probe_disks"] and not module.check_mode,
        probe_locks=params["node"] is not None and not module.check_mode,
    )
    host = LiveHost(params["root"])
    if not host.is_dir("/"):
        module.warn(f"root {host.root} is not a directory, so nothing can be read")
    gathered = gather(host, query)
    for warning in gathered.warnings:
        module.warn(clean(f"{gathered.node.hostname}: {warning}"))
    facts = gathered.to_facts(query)
    answer = {"facts_text": json.dumps(facts)} if params["as_text"] else {"ansible_facts": facts}
    module.exit_json(changed=False, **answer)


if __name__ == "__main__":
    main()
