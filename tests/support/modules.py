# SPDX-License-Identifier: GPL-3.0-or-later
"""A module as Ansible runs it: options in, JSON out."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.testing import patch_module_args


def run_module(module: ModuleType, capsys: pytest.CaptureFixture[str], **options: Any) -> dict[str, Any]:
    """Run main(); `warnings` are what it warned of (with its controller loaded, Ansible shows them itself)."""
    warnings: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AnsibleModule, "warn", lambda _module, warning: warnings.append(warning))
        with patch_module_args(options), pytest.raises(SystemExit):
            module.main()
    result = json.loads(capsys.readouterr().out)
    assert isinstance(result, dict)
    return {**result, "warnings": warnings}
