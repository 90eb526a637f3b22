# SPDX-License-Identifier: GPL-3.0-or-later
"""What the nodes of a run did while it ran: samples of their GPUs and of their hosts."""
