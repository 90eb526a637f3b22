# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module `run` is given in secret is not in its result, which Ansible prints with -vvv and callbacks keep."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.muster.train.plugins.modules import run
from ansible_collections.muster.train.tests.support.jobs import make_job


def test_the_key_and_the_secrets_are_not_in_the_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = make_job(tmp_path, ["true"])
    given = {
        "job": job.to_dict(),
        "runner": "cGFja2Vk",
        "key": "a-key-of-the-gang",
        "secrets": json.dumps({"TOKEN": "hf_not_to_be_shown"}),
    }
    with patch_module_args({**given, "_ansible_check_mode": True}), pytest.raises(SystemExit):
        run.main()
    printed = capsys.readouterr().out
    assert json.loads(printed)["changed"] is True
    assert job.run_id in printed, "the other options are there"
    for hidden in ("a-key-of-the-gang", "hf_not_to_be_shown", "cGFja2Vk"):
        assert hidden not in printed
