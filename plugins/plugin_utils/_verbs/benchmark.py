# SPDX-License-Identifier: GPL-3.0-or-later
"""`benchmark`: a launch of Muster's own program, and what its times say of the network."""

from __future__ import annotations

from .step import Conclude, Conclusion, Play


@Conclude
def report(play: Play) -> Conclusion:
    """Report."""
    return Conclusion()
