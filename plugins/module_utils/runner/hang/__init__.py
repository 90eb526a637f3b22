# SPDX-License-Identifier: GPL-3.0-or-later
"""Two looks at the ranks of a node in a run that does not move: stacks, recorded collectives, and what is saved."""
