# SPDX-License-Identifier: GPL-3.0-or-later
"""Names in the order in which people count."""

from __future__ import annotations

import random

from ansible_collections.muster.train.plugins.module_utils._text.order import natural


def test_natural_order() -> None:
    names = ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_10", "mlx5_11", "mlx5_bond_0", "mlx5_" + "9" * 5000]
    mixed = list(names)
    random.Random(3).shuffle(mixed)
    assert sorted(mixed, key=natural) == sorted(names, key=natural)
    assert [name for name in sorted(mixed, key=natural) if len(name) < 8] == names[:5]
    assert sorted(["10", "9", "a", "a10b2", "a10b1"], key=natural) == ["9", "10", "a", "a10b1", "a10b2"]
