# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that several modules share."""

from __future__ import annotations


class ModuleDocFragment:
    # Modules that read a machine.
    ROOT = r"""
options:
  root:
    description:
      - Directory that is used as the root of the machine. A container that inspects its host has the host's tree in
        another place, for example under V(/host).
      - All paths are resolved below it, and links cannot lead out of it. Commands are not affected.
    type: path
    default: /
"""

    # Modules that may query the container engine.
    DOCKER = r"""
options:
  docker:
    description:
      - Command that runs Docker on the node, as a list, such as V([sudo, -n, docker]).
      - The modules for runs need it only for a run in a container.
    type: list
    elements: str
    default: [docker]
"""
