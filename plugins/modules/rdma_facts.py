# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gather the RDMA devices of a node, and which of their ports NCCL could use."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rdma_facts
short_description: Gather the RDMA devices of a node, their ports and GIDs
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Reads the RDMA devices (InfiniBand, RoCE, EFA and others) of a node from sysfs alone, without rdma-core.
  - Nothing on the node is changed, and nothing is decided. RV(ansible_facts.rdma.hcas[].ports[].usable) is whether NCCL
    could use a port, and RV(ansible_facts.rdma.hcas[].ports[].reasons) is why not.
  - In a container or pod all devices of the host are returned. Those that the container may not open, those that the
    SR-IOV device plugin did not grant to the pod (C(PCIDEVICE_*) in the environment), and those whose addresses belong
    to another network namespace are not usable.
  - What cannot be read is null, with a warning.
extends_documentation_fragment:
  - muster.train.options.root
  - muster.train.attributes
  - muster.train.attributes.facts
"""

EXAMPLES = r"""
- name: The RDMA devices of all nodes
  muster.train.rdma_facts:

- name: The ports that NCCL cannot use, and why
  ansible.builtin.debug:
    msg: "{{ item.0.name }}:{{ item.1.port }}: {{ item.1.reasons | join('; ') }}"
  loop: "{{ ansible_facts.rdma.hcas | subelements('ports') | rejectattr('1.usable') }}"

- name: Those of the host, from a container that has the host's tree under /host
  muster.train.rdma_facts:
    root: /host
"""

RETURN = r"""
ansible_facts:
  description: Facts to add to C(ansible_facts). A value that could not be determined is null.
  returned: always
  type: dict
  contains:
    rdma:
      description: The RDMA devices.
      returned: always
      type: dict
      contains:
        usable:
          description: Whether NCCL could use any port. Null if the devices could not be read.
          type: bool
          sample: true
        gdr:
          description: The kernel's support for GPUDirect RDMA. Null without C(/sys).
          type: dict
          contains:
            nvidia_peermem: {description: 'Whether the module C(nvidia_peermem) is loaded.', type: bool}
            nv_peer_mem: {description: 'Whether its predecessor C(nv_peer_mem) is loaded.', type: bool}
            dmabuf: {description: 'Always null, because only a call of libibverbs determines it.', type: bool}
            amd_peer: {description: 'Whether the driver C(amdgpu) can register with the RDMA stack.', type: bool}
        hcas:
          description: The devices below C(/sys/class/infiniband), V(mlx5_2) before V(mlx5_10).
          type: list
          elements: dict
          contains:
            name: {description: The name., type: str, sample: mlx5_0}
            node_type:
              description: The kernel's type, such as V(CA), V(RNIC) (iWARP), V(usNIC), V(unspecified) (EFA).
              type: str
            vendor_id: {description: The PCI vendor., type: str, sample: "0x15b3"}
            driver: {description: The driver of the PCI device., type: str, sample: mlx5_core}
            hca_type: {description: The driver's name of the model., type: str, sample: MT4129}
            board_id: {description: The board., type: str, sample: MT_0000000838}
            fw_ver: {description: The firmware., type: str, sample: 28.39.1002}
            node_guid: {description: The GUID of the device., type: str}
            pci_address: {description: Its PCI address. Null for a software device., type: str}
            numa_node: {description: 'Its NUMA node. Null if the firmware does not set it, as in most VMs.', type: int}
            physfn: {description: 'Of a virtual function, the PCI address of the physical one.', type: str}
            uverbs: {description: Its device node. Null if that is missing., type: str, sample: /dev/infiniband/uverbs0}
            netdevs: {description: Its network interfaces., type: list, elements: str}
            ports:
              description: Its ports.
              type: list
              elements: dict
              contains:
                port: {description: The number., type: int, sample: 1}
                state: {description: "The kernel's state, such as V(ACTIVE), V(INIT) or V(DOWN).", type: str}
                phys_state: {description: 'The same of the physical link, such as V(LinkUp) or V(Polling).', type: str}
                link_layer: {description: 'V(InfiniBand), V(Ethernet) or V(Unknown).', type: str}
                rate_gbps: {description: The rate in Gb/s. For a port that is down it is a default., type: float}
                lid: {description: The LID. V(0) on Ethernet., type: int}
                sm_lid: {description: The LID of the subnet manager. V(0) without one., type: int}
                netdev: {description: 'Its network interface, as its GIDs have it.', type: str}
                mtu:
                  description: >-
                    The MTU of RoCE in bytes, which the kernel derives from that of the interface. Null on InfiniBand,
                    because no file has it.
                  type: int
                  sample: 4096
                counters:
                  description: Counters of errors and congestion by name, as far as they can be read.
                  type: dict
                gids:
                  description: The entries of the GID table that are set, in their order.
                  type: list
                  elements: dict
                  contains:
                    index: {description: The index., type: int}
                    gid: {description: The GID., type: str, sample: "0000:0000:0000:0000:0000:ffff:0a00:0005"}
                    type: {description: 'The type, such as V(RoCE v2) or V(IB/RoCE v1).', type: str}
                    address: {description: 'The IPv4 or IPv6 address that it represents.', type: str, sample: 10.0.0.5}
                    ndev: {description: The network interface., type: str}
                rocev2_gid_index:
                  description: >-
                    The index of the RoCE v2 entry that the port should send from, chosen as the plan chooses it, but
                    without knowing the other nodes' networks. That is an IPv4 address if there is one, otherwise an
                    IPv6 address that is not link-local. Null without such an entry and on InfiniBand.
                  type: int
                  sample: 3
                usable: {description: Whether NCCL could use the port., type: bool}
                reasons: {description: 'The reasons if not.', type: list, elements: str}
                signaling: {description: The lanes and their speed., type: str, sample: 4X NDR}
            link_width: {description: Lanes of its PCIe link. Null for a virtual function., type: int, sample: 16}
            link_width_max: {description: Maximum number of lanes., type: int, sample: 16}
            link_gen: {description: Generation of its PCIe link., type: int, sample: 5}
            link_gen_max: {description: Maximum generation., type: int, sample: 5}
            virtual_functions: {description: Number of its virtual functions., type: int, sample: 0}
            virtual_functions_max: {description: How many it could have., type: int, sample: 16}
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.muster.train.plugins.module_utils._host.require_python import require_python

require_python()

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._rdma.devices import read_rdma


def main() -> None:
    module = AnsibleModule(argument_spec={"root": {"type": "path", "default": "/"}}, supports_check_mode=True)
    host = Host(module.params["root"])
    if not host.is_dir("/"):
        module.warn(f"root {host.root} is not a directory, so nothing can be read")
    rdma = read_rdma(host, module.warn)
    module.exit_json(changed=False, ansible_facts={"rdma": rdma.to_dict()})


if __name__ == "__main__":
    main()
