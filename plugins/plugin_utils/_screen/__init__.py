# SPDX-License-Identifier: GPL-3.0-or-later
"""What the callback `brief` prints: stages, and the hosts of a task by what happened on them."""
