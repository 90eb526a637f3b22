# SPDX-License-Identifier: GPL-3.0-or-later
"""A callback for Trainer of Lightning: `Trainer(..., callbacks=[MusterMetrics()])`."""

import json
import os

from lightning.pytorch.callbacks import Callback


class MusterMetrics(Callback):
    """Writes step and loss of each rank to where Muster reads them, as often as the trainer logs."""

    written = 0  # the last step; with accumulated gradients, a step has several batches

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        step, total = trainer.global_step, trainer.estimated_stepping_batches
        if step > self.written and step % trainer.log_every_n_steps == 0 and "MUSTER_OUTPUT_DIR" in os.environ:
            self.written = step
            # Lightning has divided the loss for the sum over the batches of a step.
            line = {"step": step, "loss": float(outputs["loss"]) * trainer.accumulate_grad_batches}
            line |= {"total_steps": total} if total < float("inf") else {}
            name = f"rank_{trainer.global_rank:02d}_metrics.jsonl"
            with open(os.path.join(os.environ["MUSTER_OUTPUT_DIR"], name), "a") as stream:
                stream.write(json.dumps(line) + "\n")
