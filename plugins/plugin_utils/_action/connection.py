# SPDX-License-Identifier: GPL-3.0-or-later
"""How actions run modules: connections that end before ssh could say why, and results without needless parts."""

from __future__ import annotations

import re
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

# Ansible's message for a connection that ended while a module was written to it, with nothing of ssh in it: only the
# pipe's own error, or nothing at all.
_LOST = re.compile(
    r"Data could not be sent to remote host \S+ Make sure this host can be reached over ssh[.:\s]*(\[Errno.*)?",
    re.IGNORECASE | re.DOTALL,
)
# The verbosity with which Ansible shows the options of a module.
WITH_OPTIONS = 3


def is_lost(message: str) -> bool:
    """Return whether the message for a failed connection lacks what ssh said."""
    return _LOST.fullmatch(message.strip()) is not None


class ModuleRunner(ActionBase):
    """An action that runs modules on nodes: where the reason why a connection failed was lost, it asks once more."""

    def _execute_module(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            result: dict[str, Any] = super()._execute_module(*args, **kwargs)
        except AnsibleConnectionFailure as failure:
            if not is_lost(str(failure)):
                raise
            # Nothing is written to this command, so what ssh says to it is not lost.
            self._low_level_execute_command("true")
            result = super()._execute_module(*args, **kwargs)
        # Ansible copies and checks each value of a result several times; it shows the options only with -vvv.
        if Display().verbosity < WITH_OPTIONS:
            result.pop("invocation", None)
        return result
