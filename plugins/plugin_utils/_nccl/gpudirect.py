# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether NCCL will use GPUDirect RDMA on a node, as far as its facts tell."""

from __future__ import annotations

from collections.abc import Collection

from .hcas import near_hcas
from .view import NodeView

# What users set to decide it themselves.
BY_USER = ("NCCL_NET_GDR_LEVEL", "NCCL_DMABUF_ENABLE", "NCCL_NET_GDR_C2C")


def is_expected(node: NodeView, hcas: Collection[str]) -> bool | None:
    """Return True where the kernel has it and each GPU is near one of these HCAs; None where NCCL may do without."""
    if node.rdma is None or not hcas or any(name in node.user_values for name in BY_USER):
        return None
    has_kernel_part = bool(node.rdma.gdr.loaded) or node.rdma.gdr.dmabuf is True
    return True if has_kernel_part and near_hcas(node.gpu, hcas) else None
