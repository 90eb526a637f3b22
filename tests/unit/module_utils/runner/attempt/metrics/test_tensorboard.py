# SPDX-License-Identifier: GPL-3.0-or-later
"""Event files of TensorBoard, as two writers make them."""

from __future__ import annotations

import base64
import dataclasses
import random
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner.attempt.metrics.tensorboard import (
    NAME,
    parse_events,
    progress_of,
)
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.metrics.written import Written
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.progress import NO_STAMPS

# Five steps of train/loss (3 / step), train/tokens_per_second (1000 * step) and val/loss (9).
TORCH = base64.b64decode(  # torch.utils.tensorboard of torch 2.13.0, tensorboard 2.21.0
    "SAAAAAAAAAD+kkidCSs2MZeJwdpBGg1icmFpbi5FdmVudDoyUi4KLHRlbnNvcmJvYXJkLnN1bW1hcnkud3JpdGVyLmV2ZW50X2ZpbGVfd3Jp"
    "dGVyNjrKSSAAAAAAAAAAKe2pUAlpQTGXicHaQRABKhMKEQoKdHJhaW4vbG9zcxUAAEBAZAs1vS0AAAAAAAAAPEGK+wnrQTGXicHaQRABKiAK"
    "HgoXdHJhaW4vdG9rZW5zX3Blcl9zZWNvbmQVAAB6RJ2WLRceAAAAAAAAANncEjIJMkIxl4nB2kEQASoRCg8KCHZhbC9sb3NzFQAAEEG/VdcH"
    "IAAAAAAAAAAp7alQCXVCMZeJwdpBEAIqEwoRCgp0cmFpbi9sb3NzFQAAwD+4LXI8LQAAAAAAAAA8QYr7Ca1CMZeJwdpBEAIqIAoeChd0cmFp"
    "bi90b2tlbnNfcGVyX3NlY29uZBUAAPpE8afDtR4AAAAAAAAA2dwSMgngQjGXicHaQRACKhEKDwoIdmFsL2xvc3MVAAAQQUtToPMgAAAAAAAA"
    "ACntqVAJF0Mxl4nB2kEQAyoTChEKCnRyYWluL2xvc3MVAACAPwnsLUEtAAAAAAAAADxBivsJkEMxl4nB2kEQAyogCh4KF3RyYWluL3Rva2Vu"
    "c19wZXJfc2Vjb25kFQCAO0WdbHmnHgAAAAAAAADZ3BIyCctDMZeJwdpBEAMqEQoPCgh2YWwvbG9zcxUAABBB2ARzeyAAAAAAAAAAKe2pUAn9"
    "QzGXicHaQRAEKhMKEQoKdHJhaW4vbG9zcxUAAEA/UW4WaC0AAAAAAAAAPEGK+wksRDGXicHaQRAEKiAKHgoXdHJhaW4vdG9rZW5zX3Blcl9z"
    "ZWNvbmQVAAB6RYaiV3seAAAAAAAAANncEjIJBUsxl4nB2kEQBCoRCg8KCHZhbC9sb3NzFQAAEEG1yBcRIAAAAAAAAAAp7alQCUhLMZeJwdpB"
    "EAUqEwoRCgp0cmFpbi9sb3NzFZqZGT+ag8tQLQAAAAAAAAA8QYr7CXlLMZeJwdpBEAUqIAoeChd0cmFpbi90b2tlbnNfcGVyX3NlY29uZBUA"
    "QJxFhHEVVx4AAAAAAAAA2dwSMgmlSzGXicHaQRAFKhEKDwoIdmFsL2xvc3MVAAAQQf4masE="
)
# Five steps of loss (3 / step).
TENSORBOARDX = base64.b64decode(  # tensorboardX 2.6.5
    "GAAAAAAAAACjf0siCQj29peJwdpBGg1icmFpbi5FdmVudDoyjZX+rxoAAAAAAAAAEpvYLQkhRfeXicHaQRABKg0KCwoEbG9zcxUAAEBAO0xf"
    "gxoAAAAAAAAAEpvYLQnASveXicHaQRACKg0KCwoEbG9zcxUAAMA/bhXNRhoAAAAAAAAAEpvYLQk2S/eXicHaQRADKg0KCwoEbG9zcxUAAIA/"
    "RgLMJhoAAAAAAAAAEpvYLQmdS/eXicHaQRAEKg0KCwoEbG9zcxUAAEA/r5XemRoAAAAAAAAAEpvYLQn2S/eXicHaQRAFKg0KCwoEbG9zcxWa"
    "mRk/ZvJ/cg=="
)


def test_torchs_writer() -> None:
    scalars, length = parse_events(TORCH)
    assert (len(scalars), length) == (15, len(TORCH))
    progress = progress_of(scalars)
    assert progress is not None
    assert (progress.step, progress.first_loss) == (5, 3.0)
    assert progress.loss == pytest.approx(0.6)
    assert progress.tokens_per_s == 5000.0


def test_tensorboardx() -> None:
    progress = progress_of(parse_events(TENSORBOARDX)[0])
    assert progress is not None
    assert (progress.step, progress.first_loss) == (5, 3.0)
    assert progress.loss == pytest.approx(0.6)


def test_a_file_is_read_as_it_grows() -> None:
    place, steps = 0, []
    for end in range(0, len(TORCH) + 1, 7):
        scalars, length = parse_events(TORCH[place:end])
        place += length
        steps += [scalar.step for scalar in scalars if scalar.tag == "train/loss"]
    scalars, _length = parse_events(TORCH[place:])
    steps += [scalar.step for scalar in scalars if scalar.tag == "train/loss"]
    assert steps == [1, 2, 3, 4, 5]


def test_lightning_numbers_steps_from_0(tmp_path: Path) -> None:
    file = tmp_path / "version_0" / "events.out.tfevents.1795565148.vm.27204.0"
    file.parent.mkdir()
    file.write_bytes(TENSORBOARDX)
    written = Written([str(tmp_path)], NO_STAMPS)
    progress = written.look()
    assert progress is not None and progress.step == 5
    # Lightning's logger leaves its parameters beside the events.
    (file.parent / "hparams.yaml").write_text("{}\n")
    assert written.look() == dataclasses.replace(progress, step=6)


def test_without_a_loss_there_is_no_progress() -> None:
    assert progress_of([scalar for scalar in parse_events(TORCH)[0] if "loss" not in scalar.tag]) is None


def test_no_bytes_are_an_exception() -> None:
    chance = random.Random(42)
    for _case in range(3000):
        data = bytearray(chance.choice((TORCH, TENSORBOARDX)))
        for _change in range(chance.randrange(1, 20)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        progress_of(parse_events(bytes(data[: chance.randrange(len(data))]))[0])


@pytest.mark.parametrize("name", ["events.out.tfevents.1795565148.vm.27204.0", "events.out.tfevents.1795565151.vm"])
def test_the_names_of_event_files(name: str) -> None:
    assert NAME.fullmatch(name)
    assert not NAME.fullmatch(f"old.{name}")
