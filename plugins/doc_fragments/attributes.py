# SPDX-License-Identifier: GPL-3.0-or-later
"""What every module of the collection says about itself; facts and info modules add their own part."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying the target.
  diff_mode:
    description: Will return details on what has changed, or needs changing in C(check_mode), when in diff mode.
  platform:
    description: Target operating systems that can be operated against.
    support: full
    platforms: linux
  action_group:
    description: Use C(group/muster.train.train) in C(module_defaults) to set defaults for this collection.
    support: full
    membership:
      - muster.train.train
"""

    # Reads and returns what it read as facts.
    FACTS = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - This module does not modify state.
  diff_mode:
    support: N/A
    details:
      - This module does not modify state.
  facts:
    description: Returns an C(ansible_facts) dictionary that will update existing host facts.
    support: full
"""

    # Reads and returns what it read as its result.
    INFO_MODULE = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - This module does not modify state.
  diff_mode:
    support: N/A
    details:
      - This module does not modify state.
"""

    # What the playbooks are made of.
    PLAYBOOKS = r"""
options: {}
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
notes:
  - The playbooks of this collection are made of it. Its options may change with every release.
"""
