# SPDX-License-Identifier: GPL-3.0-or-later
"""A callback for Trainer of Transformers: `Trainer(..., callbacks=[MusterMetrics()])`."""

import json
import os

from transformers import TrainerCallback


class MusterMetrics(TrainerCallback):
    """Writes step and loss of each rank to where Muster reads them."""

    def on_log(self, args, state, control, logs=None, **others):
        if "loss" in (logs or {}) and "MUSTER_OUTPUT_DIR" in os.environ:
            line = {"step": state.global_step, "total_steps": state.max_steps, "loss": float(logs["loss"])}
            name = f"rank_{args.process_index:02d}_metrics.jsonl"
            with open(os.path.join(os.environ["MUSTER_OUTPUT_DIR"], name), "a") as stream:
                stream.write(json.dumps(line) + "\n")
