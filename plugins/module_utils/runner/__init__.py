# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runner: the small supervisor that is the parent of the launcher on each node.

Standard library only, Python 3.9+. The module `run` ships these files to the node as one zipapp; inside it the package
is called ``muster.runner``, so everything here imports relatively.
"""
