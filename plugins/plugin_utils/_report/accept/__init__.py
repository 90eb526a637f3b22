# SPDX-License-Identifier: GPL-3.0-or-later
"""The acceptance of a cluster: what was expected of each stage, how it went, and what has changed since the last."""
