# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables that NCCL and RCCL read, by the version that introduced them.

From NCCL's user guide (docs/userguide/source/env.rst: what is documented, with its "since") and the NCCL_PARAM,
RCCL_PARAM and getenv of both sources (what is not). Without the prefix; (0,) is old or of unknown age.
"""

from __future__ import annotations

from collections.abc import Iterable

from .._text.nearest import nearest
from .library import Library

Version = tuple[int, ...]

NCCL: dict[Version, str] = {
    (0,): """
        AGG_CHANNEL_SIZE BUFFSIZE CHECKS_DISABLE CHECK_POINTERS CHUNK_SIZE COMM_ID CONNECT_ROUND_MAX_PEERS
        CREATE_THREAD_CONTEXT CROSS_NIC DEBUG DEBUG_FILE DEBUG_SUBSYS GDRCOPY_ENABLE GDRCOPY_FIFO_ENABLE
        GDRCOPY_FLUSH_ENABLE GDRCOPY_SYNC_ENABLE GDR_FLUSH_DISABLE GRAPH_DUMP_FILE GRAPH_DUMP_FILE_RANK GRAPH_FILE
        GRAPH_HELPER_DISABLE GROUP_CUDA_STREAM HOSTID IB_DISABLE IB_GID_INDEX IB_HCA IB_IS_GLOBAL IB_PKEY IB_RETRY_CNT
        IB_SL IB_TC IB_TIMEOUT IB_USE_INLINE IB_WARN_RAIL_LOCAL IGNORE_CPU_AFFINITY IGNORE_DISABLED_P2P
        L1_SHARED_MEMORY_CARVEOUT LAUNCH_MODE LL128_BUFFSIZE LL128_NTHREADS LL_BUFFSIZE MAX_NCHANNELS MAX_NRINGS
        MAX_P2P_NCHANNELS MIN_NCHANNELS MIN_NRINGS MIN_P2P_NCHANNELS NCHANNELS_PER_NET_PEER NCHANNELS_PER_PEER
        NET_DISABLE_INTRA NET_FORCE_FLUSH NET_GDR_LEVEL NET_GDR_READ NET_OPTIONAL_RECV_COMPLETION NET_OVERHEAD
        NET_PLUGIN_REF_COUNT NSOCKS_PERTHREAD NTHREADS NVB_PRECONNECT NVTX_DISABLE P2P_DIRECT_DISABLE P2P_DISABLE
        P2P_LEVEL P2P_NVL_CHUNKSIZE P2P_PCI_CHUNKSIZE P2P_READ_ENABLE P2P_USE_CUDA_MEMCPY PROFILER_PLUGIN
        PROFILE_EVENT_MASK PROGRESS_APPENDOP_FREQ PROXY_APPEND_BATCH_SIZE PROXY_DUMP_SIGNAL PROXY_PROFILE
        REPORT_CONNECT_PROGRESS RINGS SHM_DISABLE SHM_LOCALITY SHM_MEMCPY_MODE SHM_USE_CUDA_MEMCPY SOCKET_FAMILY
        SOCKET_IFNAME SOCKET_INLINE SOCKET_MIN_TASKSIZE SOCKET_NTHREADS SOCKET_RCVBUF SOCKET_SNDBUF THREAD_THRESHOLDS
        TOPO_DUMP_FILE_RANK TUNER_CONFIG_FILE TUNER_PLUGIN UNPACK_DOUBLE_NCHANNELS WARN_ENABLE_DEBUG_INFO
        WORK_ARGS_BYTES WORK_FIFO_BYTES WORK_FIFO_DEPTH""",
    (2, 5): "ALGO PROTO",
    (2, 6): "COLLNET_ENABLE IB_AR_THRESHOLD TOPO_DUMP_FILE TOPO_FILE",
    (2, 8): "NET_SHARED_BUFFERS",
    (2, 9): "COLLNET_NODE_THRESHOLD SET_STACK_SIZE",
    (2, 10): "IB_QPS_PER_CONNECTION NET",
    (2, 11): "GRAPH_REGISTER NET_PLUGIN NVB_DISABLE",
    (2, 12): "IB_PCI_RELAXED_ORDERING NET_SHARED_COMMS P2P_PXN_LEVEL PXN_DISABLE SET_THREAD_NAME",
    (2, 13): "DMABUF_ENABLE GRAPH_MIXING_SUPPORT",
    (2, 14): "ALLOC_P2P_NET_LL_BUFFERS COMM_BLOCKING P2P_LL_THRESHOLD P2P_NET_CHUNKSIZE",
    (2, 16): "CGA_CLUSTER_SIZE IB_ADAPTIVE_ROUTING MEM_SYNC_DOMAIN",
    (2, 17): "MAX_CTAS MIN_CTAS NVLS_CHUNKSIZE NVLS_ENABLE NVLS_NCHANNELS",
    (2, 18): "COMM_SPLIT_SHARE_RESOURCES CUMEM_ENABLE IB_MERGE_VFS IB_SPLIT_DATA_ON_QPS NVLSTREE_MAX_CHUNKSIZE",
    (2, 19): "IB_ECE_ENABLE LOCAL_REGISTER",
    (2, 20): "IB_MERGE_NICS",
    (2, 21): "IB_ADDR_FAMILY IB_ADDR_RANGE IB_ROCE_VERSION_NUM MNNVL_ENABLE",
    (2, 22): "IB_FIFO_TC IB_ROUTABLE_FLID_GID_INDEX RUNTIME_CONNECT",
    (2, 23): """
        CONF_FILE CUMEM_HOST_ENABLE IB_RETURN_ASYNC_EVENTS OOB_NET_ENABLE OOB_NET_IFNAME PAT_ENABLE UID_STAGGER_RATE
        UID_STAGGER_THRESHOLD""",
    (2, 24): """
        IB_MQP_RETRY_ALL IB_MQP_RETRY_CNT IB_MQP_RETRY_SLEEP_MSEC LEGACY_CUDA_REGISTER NET_FORCE_MERGE NET_MERGE_LEVEL
        RAS_ADDR RAS_ENABLE RAS_TIMEOUT_FACTOR SOCKET_RETRY_CNT SOCKET_RETRY_SLEEP_MSEC""",
    (2, 25): "MNNVL_CLIQUE_ID MNNVL_UUID",
    (2, 26): """
        DEBUG_TIMESTAMP_FORMAT DEBUG_TIMESTAMP_LEVELS LAUNCH_ORDER_IMPLICIT LAUNCH_RACE_FATAL MNNVL_SCATTER_NETS_ENABLE
        NET_GDR_C2C""",
    (2, 27): """
        COMM_SHRINK_SHARE_RESOURCES CTA_POLICY IB_DATA_DIRECT LL128_C2C NVLINK_UTIL_CENTRIC_SCHED_ENABLE PXN_C2C
        SYM_CTAS SYM_KERNEL WIN_ENABLE WIN_STRIDE""",
    (2, 28): "ENV_PLUGIN NETDEVS_POLICY SOCKET_POLL_TIMEOUT_MSEC",
    (2, 29): "CHECK_MODE GIN_PLUGIN IPC_USE_ABSTRACT_SOCKET SYM_GIN_KERNELS_ENABLE",
    (2, 30): """
        GRAPH_STREAM_ORDERING IB_OOO_RQ IB_RAIL_POLICY IB_SUBNET_AWARE_ROUTING IB_SUBNET_PREFIX_LEN
        IGNORE_COLLNET_MISMATCH IGNORE_NET_MISMATCH MULTI_RANK_GPU_ENABLE NET_MERGE_POLICY PSK RMA_PLUGIN
        SOCKET_MAGIC""",
    (2, 31): "IB_EVENT_BASED_LB IB_PKEY_VALUE RMA_EAGER_INIT",
    (2, 32): "DEBUG_LEVELS",
}

RCCL: dict[Version, str] = {
    (0,): """
        CLIQUE_ALLREDUCE_BYTE_LIMIT CLIQUE_ALLREDUCE_NCHANNELS CLIQUE_IGNORE_TOPO DUMP_ROME_MODEL_FILE ENABLE_CLIQUE
        ENABLE_INTRANET ENABLE_SIGNALHANDLER FORCE_ENABLE_GDRDMA INTRANET_THRESHOLD KERNEL_COLL_TRACE_ENABLE
        LL128_FORCE_ENABLE MODEL_MATCHING_DISABLE MSCCLPP_ENABLE MSCCLPP_THRESHOLD MSCCL_ENABLE
        MSCCL_ENABLE_SINGLE_PROCESS MSCCL_FORCE_ENABLE NET_CONTIGUOUS_MEM P2P_NET_DISABLE P2P_NET_THRESHOLD
        PIVOT_ALLTOALL_ENABLE STACK_SIZE_OVERRIDE TREES USE_ROCM_SMI_LIB""",
    # In the source of 2.27 and not of 2.21.5; the exact version is unknown.
    (2, 22): """
        ALL_TO_ALL_PIVOT_ENABLE CHANNEL_TUNING_ENABLE DIRECT_ALLGATHER_THRESHOLD DISABLE_RAIL_TREES
        DISABLE_REDUCE_COPY_PIPELINING ENABLE_CONTEXT_TRACKING ENABLE_PROXY_TRACE FORCE_ENABLE_DMABUF
        GDR_FLUSH_GPU_MEM_NO_RELAXED_ORDERING GFX9_CHEAP_FENCE_OFF IB_QPS_PER_P2P INJECT_FAULTS
        KERNEL_COLL_TRACE_THREAD_ENABLE LATENCY_PROFILER LOG_LEVEL LOG_ROCTX MODEL_REVERSAL_DISABLE
        MSCCLPP_FORCE_ENABLE MSCCL_FORCE_FULLOPS MSCCL_WORK_FIFO_DEPTH NET_HDP_FLUSH OUTPUT_TREES OVERRIDE_ALGO
        OVERRIDE_PROTO P2P_BATCH_ENABLE P2P_BATCH_THRESHOLD PIPELINE_ALL_DATA_TYPES REPLAY_FILE ROCR_PATH SOCKET_LINGER
        SOCKET_REUSEADDR""",
    (2, 28): "THREADS_PER_BLOCK UNROLL_FACTOR WARP_SPEED_CU_COUNT WARP_SPEED_ENABLE",
}

PREFIXES = ("NCCL_", "RCCL_", "GLOO_SOCKET_IFNAME")  # what the lint looks at

# Names that RCCL alone reads with NCCL's prefix.
RCCL_ONLY = "NCCL_RINGS_REMAP NCCL_COLLTRACE_CHECK_INTERVAL_MS NCCL_COLLTRACE_RECORD_MAX NCCL_COLLTRACE_MAX_DUMP_SIZE"

# What plugins, tests and images read under these prefixes, although the libraries do not.
OTHERS = """
    NCCL_FASTRAK_ NCCL_GPUDIRECTTCPX_ NCCL_GIN_ NCCL_IBEXT_ NCCL_PLUGIN_ NCCL_PROFILE_ NCCL_SHARP_ NCCL_TESTS_
    NCCL_TUNER_ NCCL_BENCH_ NCCL_VERSION NCCL_HOME NCCL_ROOT NCCL_PATH NCCL_LIBRARY RCCL_HOME RCCL_PATH RCCL_FOLDER
    RCCL_TEST_"""

# Names of old versions, and what replaced them.
GONE = {
    "NCCL_IB_CUDA_SUPPORT": "removed in 2.4; NCCL finds GPUDirect RDMA by itself",
    "NCCL_IB_GDR_LEVEL": "NCCL_NET_GDR_LEVEL since 2.4",
    "NCCL_SINGLE_RING_THRESHOLD": "removed in 2.3",
    "NCCL_LL_THRESHOLD": "removed in 2.5",
    "NCCL_TREE_THRESHOLD": "removed in 2.5",
    "NCCL_ASYNC_ERROR_HANDLING": "torch reads TORCH_NCCL_ASYNC_ERROR_HANDLING since 2.2",
    "NCCL_BLOCKING_WAIT": "torch reads TORCH_NCCL_BLOCKING_WAIT since 2.2",
    "NCCL_DESYNC_DEBUG": "torch reads TORCH_NCCL_DESYNC_DEBUG since 2.2",
    "NCCL_TIMEOUT": "neither the library nor torch reads it: the timeout is an argument of init_process_group",
    "NCCL_TIMEOUT_MS": "neither the library nor torch reads it: the timeout is an argument of init_process_group",
}

_SINCE = {
    **{f"NCCL_{name}": since for since, names in NCCL.items() for name in names.split()},
    **{f"RCCL_{name}": since for since, names in RCCL.items() for name in names.split()},
    **dict.fromkeys(RCCL_ONLY.split(), (0,)),
}


def nccl(names: str) -> frozenset[str]:
    """Read names without their prefix."""
    return frozenset(f"NCCL_{name}" for name in names.split())


def fault(name: str, library: Library) -> str | None:
    """Return why this library does not read a name; None if it does, or if the name does not concern it."""
    upper = name.upper()
    if name != upper and upper.startswith(PREFIXES):
        known = upper in _SINCE or upper in PREFIXES
        return f"names are case-sensitive, and no library reads this one{f'; did you mean {upper}?' if known else ''}"
    if not name.startswith(("NCCL_", "RCCL_")) or (name not in _SINCE and name.startswith(tuple(OTHERS.split()))):
        return None
    if name in GONE:
        return GONE[name]
    since = _SINCE.get(name)
    if since is None:
        guess = _near(name, [known for known in _SINCE if _of(known, library)])
        return f"no version of {library.name.upper()} reads it{f'; did you mean {guess}?' if guess else ''}"
    if not _of(name, library):
        return "only RCCL reads it"
    if library.version is not None and library.version < since:
        return f"{library.name.upper()} reads it from {'.'.join(map(str, since))} on"
    return None


def _of(name: str, library: Library) -> bool:
    return library.name == "rccl" or not (name.startswith("RCCL_") or name in RCCL_ONLY.split())


def _near(name: str, names: Iterable[str]) -> str | None:
    """Guess the intended name by what follows the prefix, which all have in common."""
    by_rest = {known.partition("_")[2]: known for known in sorted(names, reverse=True)}  # NCCL_ before RCCL_
    return nearest(name.partition("_")[2], by_rest, 0.75)
