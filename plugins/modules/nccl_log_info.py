# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read from the logs of NCCL or RCCL on a node which fabric the ranks used."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nccl_log_info
short_description: Read from the logs of NCCL or RCCL which fabric the ranks used
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Reads what NCCL (2.4 to 2.30) or RCCL logged with C(NCCL_DEBUG=INFO) on a node, and returns what each rank shows and
    a verdict, never the log. Ranks may be interleaved in one file, and lines may have the prefixes of torchrun, of a
    container engine or of Muster.
  - Proof of a fabric is a connection to another node (C(via NET/IB/0/GDRDMA)) or, with NCCL 2.24 and newer, the line
    C(Connected all rings, use ring PXN 0 GDR 1) of ranks that are on several nodes by NCCL's own count (C(nNodes 2)).
    The line C(Using network IB) is only a choice. Without proof the verdict is V(unknown), never V(pass).
  - Connections are made at the first collective, so that a log from before it proves nothing.
options:
  paths:
    description:
      - Files with the logs. A directory stands for the files in it and, as in a run's directory, for those in its
        directory C(logs).
      - The files should be those of one start of the ranks.
    type: list
    elements: path
    required: true
  max_bytes:
    description:
      - How many bytes are read at most, of all files together. Of a file that is too large the beginning and the end
        are read, and RV(nccl_log.complete) is false.
    type: int
    default: 1073741824
  expected:
    description:
      - The fabric that the ranks should use. By default V(rdma) if O(gdr) is true or O(hcas) is not empty, else any,
        but the same on all ranks.
    type: str
    choices: [rdma, tcp]
  gdr:
    description: Whether GPUDirect RDMA is expected. By default, only a part of the connections without it is a warning.
    type: bool
  hcas:
    description: Names of the HCAs that the ranks of this node should open and use, such as C(mlx5_0). By default any.
    type: list
    elements: str
    default: []
  ranks:
    description: The ranks of this node, if they are known. A rank without a log is then reported.
    type: list
    elements: int
    default: []
extends_documentation_fragment:
  - muster.train.options.root
  - muster.train.attributes
  - muster.train.attributes.info_module
"""

EXAMPLES = r"""
- name: Which fabric did the ranks on this node use?
  muster.train.nccl_log_info:
    paths: [/var/log/nccl]
  register: witness

- name: Fail unless they used RDMA, with the line that shows it
  muster.train.nccl_log_info:
    paths: ["{{ run_dir }}"]
    expected: rdma
    gdr: true
    hcas: [mlx5_0, mlx5_1, mlx5_2, mlx5_3]
  register: witness
  failed_when: witness.nccl_log.verdict.verdict != 'pass'
"""

RETURN = r"""
nccl_log:
  description: What the logs show. Null always means that no line shows it.
  returned: always
  type: dict
  contains:
    verdict:
      description: The verdict over all ranks.
      type: dict
      contains:
        verdict:
          description: >-
            V(pass) if a fabric is proved and nothing contradicts it, V(fail) if a finding has the status V(fail),
            V(unknown) otherwise.
          type: str
          sample: pass
        transport:
          description: The fabric that is proved, V(rdma), V(tcp) or V(mixed); null if none is.
          type: str
          sample: rdma
        networks: {description: NCCL's names of the networks that are proved., type: list, elements: str, sample: [IB]}
        gdr:
          description: Whether the connections to other nodes have GPUDirect RDMA; null if only some have.
          type: bool
          sample: true
        edges: {description: 'How many connections they are, by channel and direction.', type: int, sample: 64}
        nics: {description: Over how many network devices of one node they go., type: int, sample: 8}
        line:
          description: The line that proves it or contradicts it most, shortened.
          type: str
          sample: "gpu01:985927:986028 [3] NCCL INFO Channel 00/0 : 3[3] -> 8[0] [send] via NET/IB/3/GDRDMA"
        findings:
          description: What differs from the expectation.
          type: list
          elements: dict
          contains:
            check:
              description: >-
                C(nccl transport), C(nccl edges), C(nccl ranks), C(nccl gdr), C(nccl nics), C(nccl link layers),
                C(nccl errors) or C(nccl log).
              type: str
            status: {description: 'V(fail), V(warn), or V(error) if it could not be judged.', type: str}
            ranks: {description: 'The ranks, at most 16 of them.', type: list, elements: str}
            count: {description: How many ranks., type: int}
            observed: {description: What the log shows., type: str}
            expected: {description: What should be., type: str}
            remedy: {description: What to do., type: str}
            line: {description: 'The first such line, shortened.', type: str}
    expected:
      description: What was expected, as the options say (C(transport), C(gdr), C(hcas), C(ranks)).
      type: dict
    ranks:
      description: The ranks in their order, or processes whose number no line shows.
      type: list
      elements: dict
      contains:
        host: {description: The host in front of its lines., type: str}
        pid: {description: The process in front of its lines., type: str}
        device: {description: The number of its GPU in the process., type: int}
        rank: {description: Its number in the largest communicator., type: int}
        nranks: {description: The size of that communicator., type: int}
        nnodes:
          description: >-
            On how many nodes its communicators are, the least of them. Nodes with one NVLink count as one.
          type: int
        bus_id: {description: The PCI address of its GPU as NCCL writes it., type: str}
        library: {description: C(NCCL) or C(RCCL)., type: str}
        version: {description: Its version., type: str, sample: 2.21.5+cuda12.4}
        version_at_least: {description: 'Without a version, the first release with such lines.', type: str}
        bootstrap: {description: C(interface) and C(address) of the bootstrap., type: dict}
        network: {description: 'The network that it chose, which proves nothing.', type: str, sample: IB}
        opened: {description: Whether NCCL could open an HCA., type: bool}
        hcas:
          description: The HCAs that it opened (C(index), C(name), C(port), C(link) and C(sharp)).
          type: list
          elements: dict
        relaxed_ordering: {description: Whether PCI relaxed ordering is used., type: bool}
        oob: {description: C(interface) and C(address) over which HCAs exchange addresses., type: dict}
        sockets: {description: The interfaces of the network Socket., type: list, elements: dict}
        plugins: {description: 'Plugins by kind. C(net) is C(internal) without one.', type: dict}
        provider: {description: The provider of libfabric., type: str, sample: efa}
        provider_nics: {description: How many NICs that provider has., type: int}
        dmabuf: {description: Whether DMA-BUF is available., type: bool}
        gdr_hcas: {description: Whether each HCA can do GPUDirect RDMA., type: dict}
        gdr_refused: {description: Why NCCL does not use GPUDirect RDMA., type: str, sample: distance 5 > 4}
        env: {description: The variables that NCCL says it read., type: dict}
        env_set_by_plugin: {description: The variables that a plugin set., type: dict}
        net:
          description: Connections through a network.
          type: list
          elements: dict
          contains:
            network: {description: NCCL's name of the network., type: str, sample: IB}
            gdr: {description: Whether with GPUDirect RDMA., type: bool}
            count: {description: 'How many, by channel and direction.', type: int}
            outside: {description: Whether any leads to a rank that is not known to be on its node., type: bool}
            nics: {description: NCCL's numbers of the network devices., type: list, elements: int}
            pxn: {description: How many use the NIC of another rank of the node., type: int}
            line: {description: The first of them., type: str}
            channels: {description: The numbers of their channels., type: list, elements: int}
            sent: {description: 'Of how many the rank is known to be the sender.', type: int}
        local: {description: Connections inside the node by transport., type: dict, sample: {P2P/CUMEM: 16}}
        channels: {description: 'How many channels NCCL made, by their kind.', type: dict, sample: {coll: 16, p2p: 16}}
        channels_used: {description: How many channels the connections name., type: int}
        merged_nics: {description: Whether NCCL merged ports into one network device., type: bool}
        rings: {description: Whether all rings are connected., type: bool}
        ring_gdr: {description: Whether all rings have GPUDirect RDMA (2.24 and newer)., type: bool}
        ring_pxn: {description: The C(PXN) of the same line., type: int}
        ring_line: {description: That line., type: str}
        init_started: {description: Whether a communicator began to initialize., type: bool}
        init_complete: {description: Whether one is initialized., type: bool}
        ambiguous: {description: Whether it joined communicators of several sizes or with several numbers., type: bool}
        warnings: {description: How many lines are warnings., type: int}
        errors:
          description: >-
            The first 8 warnings that differ, each with C(kind) (C(completion), C(call), C(event) or C(warning)), NCCL's
            own numbers (C(status), C(vendor_err), C(errno)), C(call), C(event), C(device), C(peer), C(gid_index),
            C(state), C(next_state), C(time), C(count) and C(line).
          type: list
          elements: dict
        choice_line: {description: The line that shows the network or the HCAs., type: str}
    topology:
      description: >-
        What NCCL detected (with C(NCCL_DEBUG_SUBSYS=GRAPH)): C(gpus), the speed of network devices in Gb/s (C(nets)),
        and links of PCI below 1 GB/s (C(slow_pci)): on a virtual machine they mean that it needs a topology file.
      type: dict
    files: {description: How many files were read., type: int, sample: 8}
    bytes_read: {description: How many bytes were read., type: int}
    complete: {description: Whether nothing was left out because of a limit., type: bool}
    unread: {description: 'How many paths are not there or cannot be read.', type: int}
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.muster.train.plugins.module_utils._host.require_python import require_python

require_python()

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._nccl_log.read import read_nccl_log
from ansible_collections.muster.train.plugins.module_utils._records.nccl_verdict import NcclExpectation, judge
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "paths": {"type": "list", "elements": "path", "required": True},
            "max_bytes": {"type": "int", "default": 1 << 30},
            "expected": {"type": "str", "choices": ["rdma", "tcp"]},
            "gdr": {"type": "bool"},
            "hcas": {"type": "list", "elements": "str", "default": []},
            "ranks": {"type": "list", "elements": "int", "default": []},
            "root": {"type": "path", "default": "/"},
        },
        supports_check_mode=True,
    )
    params = module.params
    if params["max_bytes"] < 0:
        module.fail_json(msg=f"max_bytes: expected 0 or more, saw {params['max_bytes']}")
    host = Host(params["root"])
    node = host.node_name()
    log = read_nccl_log(
        host,
        params["paths"],
        params["max_bytes"],
        params["ranks"] or None,
        lambda warning: module.warn(clean(f"{node}: {warning}")),
    )
    expected = NcclExpectation(params["expected"], params["gdr"], params["hcas"], params["ranks"])
    verdict = judge(log, expected).to_dict()
    module.exit_json(changed=False, nccl_log={"verdict": verdict, "expected": expected.to_dict(), **log.to_dict()})


if __name__ == "__main__":
    main()
