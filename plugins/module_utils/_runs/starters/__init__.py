# SPDX-License-Identifier: GPL-3.0-or-later
"""The ways to start a runner detached from Ansible."""
