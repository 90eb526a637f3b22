# SPDX-License-Identifier: GPL-3.0-or-later
"""What experiment trackers learn of a run by variables of their own: its run ID, and where its files go.

Only what changes neither the server nor the tracker's run to which data goes. Not set, therefore:
MLFLOW_TRACKING_URI (Lightning's MLFlowLogger ignores its `save_dir` where it is set), MLFLOW_RUN_ID (it has to name a
run that exists), WANDB_RUN_ID (ranks with the same one would write into one run), and TENSORBOARD_LOGGING_DIR
(Transformers ignores its `output_dir` where it is set).
"""

from __future__ import annotations

import json

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable

from .._findings.origin import DEFAULT
from .._nccl.variable_layers import variable


def variables(run_id: str, output_dir: str) -> list[Variable]:
    """Return the variables of W&B (wandb/env.py) and MLflow (mlflow/tracking/context/system_environment_context.py)."""
    # MLflow has no variable for the name of a run alone; these tags are those of each run that it creates.
    tags = json.dumps({"mlflow.runName": run_id, "muster.run_id": run_id})
    return [
        variable("MLFLOW_RUN_CONTEXT", tags, DEFAULT, "tags of MLflow's runs: name and run ID"),
        variable("WANDB_DIR", output_dir, DEFAULT, "W&B writes its files where they are collected"),
        variable("WANDB_NAME", run_id, DEFAULT, "name of W&B's runs"),
        variable("WANDB_RUN_GROUP", run_id, DEFAULT, "W&B groups the ranks' runs"),
    ]
