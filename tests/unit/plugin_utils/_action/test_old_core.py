# SPDX-License-Identifier: GPL-3.0-or-later
"""An ansible-core that is too old is refused by name."""

from __future__ import annotations

import importlib

import pytest
from ansible import release
from ansible.errors import AnsibleError

from ansible_collections.muster.train.plugins.plugin_utils import _action


@pytest.mark.parametrize("version", ["2.18.6", "2.9.27", "1.9.4"])
def test_an_older_core_is_refused(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "__version__", version)
    with pytest.raises(AnsibleError, match=rf"2\.19 .* {version}"):
        importlib.reload(_action)


@pytest.mark.parametrize("version", ["2.19.0", "2.20.0b1", "3.0.0"])
def test_a_newer_core_is_not_refused(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "__version__", version)
    importlib.reload(_action)
