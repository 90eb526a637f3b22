# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option of every module that reads a machine: the root of its tree."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  root:
    description:
      - Directory that is used as the root of the machine. A container that inspects its host has the host's tree in
        another place, for example under V(/host).
      - All paths are resolved below it, and links cannot lead out of it. Commands are not affected.
    type: path
    default: /
"""
