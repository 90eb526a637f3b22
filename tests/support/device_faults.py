# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of GPUs and of RDMA devices."""

from __future__ import annotations

from ansible_collections.muster.train.tests.support.faults import (
    A100,
    AMD,
    IB,
    ROCE,
    Fault,
    add_links,
    closed_device,
    drop_uvm,
    fewer_gpus,
    gpu,
    hca,
    listed_less,
    log,
    node,
    off_fabric,
    other_model,
    swap_rails,
    text,
)

DEVICES = [
    # GPUs
    Fault("a GPU fewer", IB, "gpu count", change=fewer_gpus),
    Fault("not the profile's count", IB, "gpu count", node=None, options=lambda: {"expected": {"gpus": 16}}),
    Fault("a GPU fell off the bus", IB, "gpus", change=listed_less),
    Fault("a GPU off the fabric", IB, "gpus", "warn", change=off_fabric),
    Fault("another model", IB, "gpu model", change=other_model),
    Fault("another driver", IB, "driver", change=lambda facts: facts["gpu"].update(driver_version="535.1")),
    Fault("uncorrected ECC", IB, "ecc", change=gpu(ecc_uncorrected=2)),
    Fault("ECC off", A100, "ecc", change=gpu(ecc_mode="disabled", ecc_pending="disabled")),
    Fault("row remap pending", IB, "gpu memory", change=gpu(remap_pending=True)),
    Fault("row remap failed", IB, "gpu memory", change=gpu(index=0, remap_failure=True)),
    Fault("bad pages", AMD, "gpu memory", change=gpu(bad_pages=12)),
    Fault("NVLink down", IB, "nvlink", change=gpu(nvlinks_down=[4])),
    Fault(
        "fabric manager stopped",
        IB,
        "fabric manager",
        change=lambda facts: facts["node"]["gpu_health"]["fabric_manager"].update(active=False, state="failed"),
    ),
    Fault("GPU asks for a reset", IB, "gpu state", change=gpu(trouble="GPU requires reset")),
    Fault("thermal slowdown", IB, "throttling", "warn", change=gpu(throttle=["HW thermal slowdown"])),
    Fault("persistence off", IB, "persistence", "warn", change=gpu(persistence=False)),
    Fault("GPU at x8", IB, "pcie", change=gpu(link_width=8)),
    Fault("adapter at x8", ROCE, "pcie", change=hca(link_width=8, link_width_max=16, link_gen=5, link_gen_max=5)),
    Fault(
        "adapter at generation 3",
        ROCE,
        "pcie",
        change=hca(link_width=16, link_width_max=16, link_gen=3, link_gen_max=5),
    ),
    Fault(
        "foreign process",
        IB,
        "gpu processes",
        change=node(gpu_processes=[{"pid": 3, "uid": 7, "command": "python", "run_id": None, "device": None}]),
    ),
    Fault("Xid 79", IB, "kernel log", change=log("xid", 79)),
    Fault("Xid 31", IB, "kernel log", "warn", change=log("xid", 31)),
    Fault("RAS error", AMD, "kernel log", change=log("ras", None)),
    Fault(
        "kernel log closed",
        IB,
        "kernel log",
        "error",
        change=node(kernel_log={"readable": False, "why": "dmesg_restrict"}),
    ),
    Fault("no nvidia-uvm", IB, "device files", change=drop_uvm),
    Fault("render node closed", AMD, "device files", change=closed_device),
    # RDMA
    Fault(
        "a port down",
        IB,
        "rdma ports",
        tree=text('mlx5_3/ports/1/state: "4: ACTIVE', 'mlx5_3/ports/1/state: "1: DOWN'),
        status="fail",
    ),
    Fault(
        "a port slower",
        IB,
        "rdma ports",
        tree=text('mlx5_3/ports/1/rate: "400 Gb/sec (4X NDR)', 'mlx5_3/ports/1/rate: "200 Gb/sec (2X NDR)'),
    ),
    Fault(
        "not the profile's rate", ROCE, "rdma ports", node=None, options=lambda: {"expected": {"rdma_rate_gbps": 800}}
    ),
    Fault("other firmware", IB, "firmware", tree=text('mlx5_3/fw_ver: "28.39.1002', 'mlx5_3/fw_ver: "28.36.1010')),
    Fault(
        "a link that goes down",
        IB,
        "counters",
        "warn",
        tree=text('mlx5_3/ports/1/counters/link_downed: "0', 'mlx5_3/ports/1/counters/link_downed: "40'),
    ),
    Fault("rails swapped", ROCE, "rails", change=swap_rails),
    Fault("rails swapped, with more routes", ROCE, "rails", change=swap_rails, options=lambda: {"both": add_links}),
    Fault("no peermem", IB, "gdr", "warn", change=lambda facts: facts["rdma"]["gdr"].update(nvidia_peermem=False)),
    Fault(
        "IOMMU translates",
        IB,
        "iommu",
        "warn",
        node=None,
        options=lambda: {"both": node(kernel={"release": "6.8.0", "command_line": ["intel_iommu=on"]})},
    ),
    Fault(
        "locked memory",
        IB,
        "memlock",
        change=node(
            user={"name": "ann", "uid": 1000, "home": "/h"},
            memlock={"soft": 8 << 20, "hard": 8 << 20, "cap_ipc_lock": False, "effective": 8 << 20},
        ),
    ),
]
