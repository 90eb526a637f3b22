# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gather the GPUs of a node: vendor, number, links, and the HCAs nearest to each."""

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_facts
short_description: Gather the GPUs of a node, their links and the nearest HCAs
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Returns the GPUs of NVIDIA and AMD as facts. Nothing is changed.
  - The GPUs and their distances to HCAs are read from C(/dev), C(/proc) and C(/sys). Names, memory and NVLink come from
    C(nvidia-smi). AMD's links come from the kernel (KFD), or else from C(amd-smi) or C(rocm-smi).
  - If a tool is missing, fails, prints unknown output or does not answer within five seconds (eight for all calls), the
    facts that only it provides are null or empty, and a warning names the command.
  - In a container only the GPUs that are available to it count, although the kernel shows all.
extends_documentation_fragment:
  - muster.train.options.root
  - muster.train.attributes
  - muster.train.attributes.facts
"""

EXAMPLES = r"""
- name: The GPUs of this node
  muster.train.gpu_facts:

- name: The HCAs near the first GPU
  ansible.builtin.debug:
    msg: "{{ ansible_facts.gpu.nearest_nics | selectattr('gpu', 'eq', 0) }}"

- name: From a container that has the host's tree under /host
  muster.train.gpu_facts:
    root: /host
"""

RETURN = r"""
ansible_facts:
  description: Facts to add to C(ansible_facts). A value that could not be determined is null.
  returned: always
  type: dict
  contains:
    gpu:
      description: The GPUs of the node. Null if there is neither C(/dev) nor C(/sys).
      returned: always
      type: dict
      contains:
        vendor:
          description: >-
            V(nvidia) or V(amd). Null without such a GPU, or if another vendor's tool with the output of C(nvidia-smi)
            lists the devices.
          type: str
          sample: nvidia
        count:
          description: >-
            Number of GPUs that a process can open, which are device nodes of NVIDIA and logical GPUs (partitions) of
            AMD. 0 with a vendor if the machine has GPUs that cannot be opened.
          type: int
          sample: 8
        driver_version:
          description: Version of the GPU driver. Null for the amdgpu driver that is part of the kernel.
          type: str
          sample: 570.124.06
        runtime_version:
          description: The newest CUDA version that the driver supports, or the version of the ROCm installation.
          type: str
          sample: '12.8'
        devices:
          description: >-
            All logical GPUs. Each partition is a device; a GPU without partitions is one device. If no GPU can be
            opened, NVIDIA's GPUs on the PCI bus.
          type: list
          elements: dict
          contains:
            index: {description: 'Its number, from 0, in the order of the tools.', type: int}
            name: {description: Product name., type: str, sample: NVIDIA H100 80GB HBM3}
            uuid: {description: 'As CUDA_VISIBLE_DEVICES takes it; of a MIG device V(MIG-…).', type: str}
            pci_address: {description: 'Of the whole GPU for a MIG device.', type: str, sample: '0000:1b:00.0'}
            numa_node: {description: Its NUMA node., type: int}
            memory_mib: {description: 'Its memory in MiB. Null for a MIG device.', type: int, sample: 81559}
            partition: {description: 'MIG profile (V(1g.10gb)) or compute partition mode (V(SPX), V(CPX)).', type: str}
        links:
          description: Links between two GPUs, from the tables of a tool or the kernel. MIG devices have none.
          type: list
          elements: dict
          contains:
            a: {description: Index of one GPU., type: int}
            b: {description: 'Index of the other, which is larger.', type: int}
            relation: {description: 'Its name, such as V(NV18), V(PIX), V(SYS), V(XGMI) or V(PCIE).', type: str}
            count: {description: 'Number of NVLinks, null for other links.', type: int}
        nics:
          description: RDMA devices by the labels of C(nvidia-smi). Empty if it has none.
          type: dict
          sample: {NIC0: mlx5_0}
        nic_links:
          description: Relations between a GPU and an HCA on the PCI bus, from the tool, or else from C(/sys).
          type: list
          elements: dict
          contains:
            gpu: {description: Index of the GPU., type: int}
            nic: {description: Name of the HCA., type: str}
            relation: {description: 'V(PIX), V(PXB), V(PHB), V(NODE) or V(SYS), from near to far.', type: str}
        nearest_nics:
          description: The HCAs nearest to each GPU. On some machines the nearest relation is V(SYS).
          type: list
          elements: dict
          contains:
            gpu: {description: Index of the GPU., type: int}
            relation: {description: The closest relation., type: str}
            names: {description: All HCAs with this relation., type: list, elements: str}
        topology_file:
          description: >-
            The file that describes a VM's PCI topology to NCCL (C(path)). C(source) is the file or folder it is known
            from, null if NCCL finds it by itself.
          type: dict
        virtual: {description: Whether the node is a virtual machine (x86)., type: bool}
        faults:
          description: Why GPUs do not work, empty if they do, as far as their driver knows.
          type: list
          elements: dict
          contains:
            kind:
              description: >-
                V(driver) (not loaded, or without this GPU), V(versions) (driver and library differ), V(lost), V(reset)
                (needed), V(none) (no device for the tool), V(denied), V(hangs) or V(other); V(unknown) if the tool
                cannot run, so that whether they work is not known.
              type: str
            words: {description: What the source says., type: str}
            source: {description: 'The tool or the path of this answer.', type: str}
            device: {description: 'PCI address of the GPU, null if it is unknown or all are meant.', type: str}
            index: {description: 'Index of a GPU whose address is not known, by the tool.', type: int}
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.muster.train.plugins.module_utils._host.require_python import require_python

require_python()

from ansible_collections.muster.train.plugins.module_utils._gpu.devices import read_gpu
from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean


def main() -> None:
    module = AnsibleModule(argument_spec={"root": {"type": "path", "default": "/"}}, supports_check_mode=True)
    host = Host(module.params["root"])
    if not host.is_dir("/"):
        module.warn(f"root {host.root} is not a directory, so nothing can be read")
    gpu = read_gpu(host, lambda warning: module.warn(clean(f"{host.node_name()}: {warning}")))
    module.exit_json(changed=False, ansible_facts={"gpu": gpu.to_dict() if gpu else None})


if __name__ == "__main__":
    main()
