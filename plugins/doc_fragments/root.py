# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option of every module that reads a machine: where the machine is seen."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  root:
    description:
      - The directory under which the machine is seen. A container that inspects its host has the host's tree elsewhere,
        for example under V(/host).
      - Every path that is read is looked up there, and links do not lead out of it. Commands run as they are.
    type: path
    default: /
"""
