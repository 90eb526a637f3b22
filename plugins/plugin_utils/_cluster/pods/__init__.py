# SPDX-License-Identifier: GPL-3.0-or-later
"""The pods of a StatefulSet as hosts: what Kubernetes says of them, and how they are reached."""
