# SPDX-License-Identifier: GPL-3.0-or-later
"""What the action plugins share. A Python or ansible-core that is too old is refused here, before any import fails."""

from __future__ import annotations

import sys

from ansible.errors import AnsibleError
from ansible.release import __version__ as ansible_core

if sys.version_info < (3, 11):  # noqa: UP036
    raise AnsibleError(
        f"Muster needs Python 3.11 or newer on the controller, and Ansible runs with {sys.executable}, which is Python "
        f"{'.'.join(map(str, sys.version_info[:3]))}: install ansible-core with a newer Python"
    )
# As in meta/runtime.yml, of which an older ansible-core only warns.
if tuple(map(int, ansible_core.split(".")[:2])) < (2, 19):
    raise AnsibleError(
        f"Muster needs ansible-core 2.19 or newer on the controller, and this is {ansible_core} ({sys.executable}): "
        "install a newer one, for example with pip install 'ansible-core>=2.19'"
    )
