# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods of Kubernetes and OpenShift as nodes."""
