# SPDX-License-Identifier: GPL-3.0-or-later
"""Which options of a command may hold a secret."""

from __future__ import annotations

import re

# All names of `variable_names.SECRET`, and Ansible's own. The path of a key is not secret.
SECRET_OPTION = re.compile(
    r"secret|passw|passphrase|_pass\b|token\b|credentials|(api|access)_?key|private_?key(?!_file)", re.IGNORECASE
)
