# SPDX-License-Identifier: GPL-3.0-or-later
"""What NCCL's errors say of their reason: the line that is not the same for each."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.nccl_message import specific, warning_in

SYSTEM = (
    "NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:93, unhandled system error (run with "
    "NCCL_DEBUG=INFO for details), NCCL version 2.27.5\nncclSystemError: System call (e.g. socket, malloc) or external "
    "library call failed or device error. "
)
REMOTE = (
    "NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1970, remote process exited or there was a "
    "network error, NCCL version 2.21.5\nncclRemoteError: A call failed possibly due to a network error or a remote "
    "process exiting prematurely."
)
SHM = "Error: failed to extend /dev/shm/nccl-aXb to 33030532 bytes, error: No space left on device (28)"
VERBS = "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_4:1, curr state INIT, next state RTR"
ROUTE = "socketPollConnect: connect to 10.60.0.12<41235> returned 113(No route to host)"


@pytest.mark.parametrize(
    ("message", "warnings", "expected"),
    [
        pytest.param(f"{SYSTEM}\nLast error:\n{ROUTE}", [], ROUTE, id="the last error"),
        pytest.param(f"{SYSTEM}\nLast error:\n\n", [SHM], SHM, id="an empty last error"),
        pytest.param(SYSTEM, ["Cuda failure 'unknown error'", VERBS], VERBS, id="the warning with an errno"),
        pytest.param(
            SYSTEM, ["Mismatched versions of the plugin"], "Mismatched versions of the plugin", id="any warning"
        ),
        pytest.param(
            f"{REMOTE}\nLast error:\nncclRemoteError: A call failed",
            ["NET/IB: Got completion from peer 10.0.0.2<4791> with status=12 opcode=0 len=0 vendor err 129"],
            "NET/IB: Got completion from peer 10.0.0.2<4791> with status=12 opcode=0 len=0 vendor err 129",
            id="a last error that says nothing",
        ),
        pytest.param(SYSTEM, [], SYSTEM, id="nothing but what is always said"),
        pytest.param("size mismatch for weight", [SHM], "size mismatch for weight", id="not NCCL's"),
        pytest.param("no file\nLast error: x", [VERBS], "no file\nLast error: x", id="a program's own last error"),
    ],
)
def test_what_is_specific(message: str, warnings: list[str], expected: str) -> None:
    assert specific(message, warnings) == expected


@pytest.mark.parametrize(
    ("line", "warning"),
    [
        (f"n1:71:99 [2] misc/ibvwrap.cc:262 NCCL WARN {VERBS}", VERBS),
        (f"[2026-11-30 10:00:00] n1:71:99 [2] misc/shmutils.cc:87 NCCL WARN {SHM}", SHM),
        ("n1:71:99 [2] NCCL INFO Channel 00", None),
        ("NCCL WARN ", None),
    ],
)
def test_warnings(line: str, warning: str | None) -> None:
    assert warning_in(line) == warning
