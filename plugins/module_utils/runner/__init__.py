# SPDX-License-Identifier: GPL-3.0-or-later
"""The runner: the small supervisor that is the parent of the launcher on each node.

Standard library only, Python 3.9+. The module `run` ships these files to the node as one zipapp; inside it the package
is called ``muster.runner``, so everything here imports relatively.
"""
