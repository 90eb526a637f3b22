# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which options of a command may hold a secret."""

from __future__ import annotations

import re

SECRET_OPTION = re.compile(r"secret|passw|passphrase|_pass\b|token\b|api_?key", re.IGNORECASE)
