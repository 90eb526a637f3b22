# SPDX-License-Identifier: GPL-3.0-or-later
"""The picture: everything is on it, inside it, and nothing lies on anything else."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Rdma
from ansible_collections.muster.train.plugins.plugin_utils._detect import drawing
from ansible_collections.muster.train.plugins.plugin_utils._detect.drawing import (
    NARROW,
    WIDE,
    Box,
    Picture,
    Text,
    Wire,
    draw,
)
from ansible_collections.muster.train.plugins.plugin_utils._detect.topology import Group, Nic, PciCluster, sockets
from ansible_collections.muster.train.plugins.plugin_utils._page.width import text_width
from ansible_collections.muster.train.tests.support.detect_parts import NO_GPU, NO_RDMA, dgx_a100, dgx_h100, mi300x

MACHINES = {"dgx_h100": dgx_h100, "dgx_a100": dgx_a100, "mi300x": mi300x}
each_picture = pytest.mark.parametrize(("machine", "width"), list(itertools.product(MACHINES, (NARROW, WIDE))), ids=str)


NIC = Nic("mlx5_0", "", "400 Gb/s", "InfiniBand", "used", True, "", 0, "PIX")


def drawn(machine: dict[str, Any], width: float, direct_links: str = "NVLink: all 28 pairs NV18") -> Picture:
    laid_out = sockets(Rdma.from_dict(machine["rdma"]), Gpu.from_dict(machine["gpu"]), ["mlx5_0"])
    return draw(laid_out, direct_links, width)


def boxes(picture: Picture, style: str) -> list[Box]:
    return [shape for shape in picture.shapes if isinstance(shape, Box) and style in shape.style.split()]


def texts(picture: Picture) -> list[str]:
    return [shape.text for shape in picture.shapes if isinstance(shape, Text)]


def apart(a: Box, b: Box) -> bool:
    return a.x + a.width <= b.x or b.x + b.width <= a.x or a.y + a.height <= b.y or b.y + b.height <= a.y


@each_picture
def test_it_fits(machine: str, width: float) -> None:
    picture = drawn(MACHINES[machine](), width)
    assert picture.width <= width
    for shape in picture.shapes:
        if isinstance(shape, Box):
            assert shape.x >= 0 and shape.y >= 0
            assert shape.x + shape.width <= picture.width and shape.y + shape.height <= picture.height
        elif isinstance(shape, Wire):
            assert max(shape.x1, shape.x2) <= picture.width and max(shape.y1, shape.y2) <= picture.height


@each_picture
def test_no_device_lies_on_another(machine: str, width: float) -> None:
    picture = drawn(MACHINES[machine](), width)
    for style in ("device", "socket"):
        assert all(apart(a, b) for a, b in itertools.combinations(boxes(picture, style), 2))
    for device in boxes(picture, "device"):
        assert any(
            socket.x <= device.x
            and device.x + device.width <= socket.x + socket.width
            and socket.y <= device.y
            and device.y + device.height <= socket.y + socket.height
            for socket in boxes(picture, "socket")
        )


@each_picture
def test_everything_is_on_it(machine: str, width: float) -> None:
    facts = MACHINES[machine]()
    picture = drawn(facts, width)
    labels = texts(picture)
    assert {hca["name"] for hca in facts["rdma"]["hcas"]} <= set(labels)
    assert {f"GPU {number}" for number in range(8)} <= set(labels)
    assert labels.count("NUMA node 0") == labels.count("NUMA node 1") == 1
    speeds = [f"{hca['ports'][0]['rate_gbps']:g} Gb/s" for hca in facts["rdma"]["hcas"] if hca["ports"][0]["usable"]]
    assert sorted(text for text in labels if text.endswith(" Gb/s")) == sorted(speeds)


def test_two_sockets_stand_side_by_side_where_there_is_room() -> None:
    assert len({box.y for box in boxes(drawn(dgx_h100(), WIDE), "socket")}) == 1
    assert len({box.y for box in boxes(drawn(dgx_h100(), NARROW), "socket")}) == 2


def test_relations_are_shown_in_text_too() -> None:
    assert texts(drawn(dgx_h100(), WIDE)).count("PIX") == 8
    assert texts(drawn(mi300x(), WIDE)).count("PXB") == 8
    switches = texts(drawn(dgx_a100(), WIDE))
    assert (switches.count("PIX"), switches.count("PXB")) == (8, 4)


def test_a_port_that_is_down() -> None:
    picture = drawn(dgx_h100(), WIDE)
    assert "DOWN" in texts(picture)
    assert [box.title.splitlines()[-1] for box in boxes(picture, "unusable")] == ["port is DOWN, not ACTIVE"]


def test_what_a_job_uses() -> None:
    picture = drawn(dgx_h100(), WIDE)
    assert [box.title.splitlines()[0] for box in boxes(picture, "used")] == ["mlx5_0"]
    assert len(boxes(picture, "usable")) == 8


def test_the_strip_is_drawn_only_with_links_between_all() -> None:
    assert any(isinstance(shape, Wire) and shape.style == "strip" for shape in drawn(dgx_h100(), WIDE).shapes)
    without = drawn(dgx_h100(), WIDE, direct_links="")
    assert not any(isinstance(shape, Wire) and shape.style in ("strip", "own") for shape in without.shapes)


def test_a_machine_without_one_of_both() -> None:
    cpu = drawn({**dgx_h100(), "gpu": NO_GPU}, WIDE, "")
    assert len(boxes(cpu, "nic")) == 10 and not boxes(cpu, "gpu")
    plain = drawn({**dgx_h100(), "rdma": NO_RDMA}, WIDE)
    assert len(boxes(plain, "gpu")) == 8 and not boxes(plain, "nic")
    assert plain.height < drawn(dgx_h100(), WIDE).height


def test_long_names_are_shortened_and_complete_in_the_tooltip() -> None:
    assert drawing.shortened("rocep139s0f1np1_with_more", 11, 5) == "rocep139…_more"
    assert drawing.shortened("mlx5_bond_0", 13.5, 5) == "mlx5_bond_0"
    assert drawing.shortened("W" * 40, 11, 0) == "WWWWWWWW…"
    assert drawing.shortened("H100 80GB HBM3", 11, 0) == "H100 80GB HBM3"
    machine = dgx_h100()
    machine["rdma"]["hcas"][0]["name"] = "rocep139s0f1np1_with_more"
    assert any("rocep139s0f1np1_with_more" in box.title for box in boxes(drawn(machine, WIDE), "nic"))


def test_long_words_about_a_link_stay_below_their_own_device() -> None:
    machine = dgx_h100()
    for hca in machine["rdma"]["hcas"]:
        hca["ports"][0] |= {"state": "SOMETHING_UNHEARD_OF_9", "link_layer": "a link layer of another kind"}
    long = [text for text in drawn(machine, WIDE).shapes if isinstance(text, Text) and "small" in text.style]
    assert all(text_width(text.text, drawing.SIZES["small"]) <= drawing.CELL for text in long if "…" in text.text)
    assert "a link layer of another kind" not in texts(drawn(machine, WIDE))
    assert any("a link layer of another kind" in box.title for box in boxes(drawn(machine, WIDE), "nic"))


def test_groups_are_spread_evenly_over_rows() -> None:
    groups = [Group("PIX", (PciCluster((), (NIC,) * 3),)) for _number in range(4)]
    assert [len(row) for row in drawing._rows(groups, 10)] == [2, 2]
    assert [len(row) for row in drawing._rows(groups, 12)] == [4]
    assert [len(row) for row in drawing._rows(groups, 2)] == [1, 1, 1, 1]
    assert drawing._rows([], 10) == [[]]
