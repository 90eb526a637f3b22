# SPDX-License-Identifier: GPL-3.0-or-later
"""What wraps the command on a node."""
