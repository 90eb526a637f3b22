# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages in a real browser, on a desktop's screen and on a phone's, light and dark."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._checks.page import render as render_preflight
from ansible_collections.muster.train.plugins.plugin_utils._detect.page import render as render_detect
from ansible_collections.muster.train.plugins.plugin_utils._detect.rdma.page import render as render_rdma
from ansible_collections.muster.train.plugins.plugin_utils._report.accept.changes import changes_between
from ansible_collections.muster.train.plugins.plugin_utils._report.accept.page import render as render_acceptance
from ansible_collections.muster.train.plugins.plugin_utils._report.benchmark.page import render as render_benchmark
from ansible_collections.muster.train.plugins.plugin_utils._report.difference_page import render_difference
from ansible_collections.muster.train.plugins.plugin_utils._report.pairs.page import render as render_pairs
from ansible_collections.muster.train.plugins.plugin_utils._report.run_page import render_run
from ansible_collections.muster.train.plugins.plugin_utils._report.sweep_page import render as render_sweep
from ansible_collections.muster.train.plugins.plugin_utils._sweep.difference import compare_sweeps
from ansible_collections.muster.train.tests.support.accept_parts import SLOW, acceptance, refused
from ansible_collections.muster.train.tests.support.accept_parts import documents as accept_documents
from ansible_collections.muster.train.tests.support.benchmark_parts import benchmark
from ansible_collections.muster.train.tests.support.detect_parts import cluster, dgx_h100, down, mi300x
from ansible_collections.muster.train.tests.support.pair_networks import Network
from ansible_collections.muster.train.tests.support.pair_parts import outcome
from ansible_collections.muster.train.tests.support.preflight_parts import NOW, Facts, report
from ansible_collections.muster.train.tests.support.rdma_report_parts import (
    as_it_is,
    nodes_with,
    old_firmware,
    reported,
    symbol_errors,
)
from ansible_collections.muster.train.tests.support.report_parts import reported_run
from ansible_collections.muster.train.tests.support.sweep_parts import earlier_sweep, sweep

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# The pages allow no script; this one is put into a copy, and leaves its measurements in the document.
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
MEASURE = """<script>addEventListener("load", () => {
  const root = document.documentElement;
  const cues = [...document.querySelectorAll(".scroll")].filter((item) => item.scrollWidth > item.clientWidth + 1
    && !item.querySelector("svg")).map((item) => item.querySelector(".cue"));
  const hidden = cues.filter((cue) => !cue || cue.getClientRects().length === 0).length;
  const text = document.body.innerText.replace(/\\s+/g, " ");
  const luminance = (color) => color.match(/[0-9.]+/g).slice(0, 3).map((part) => part / 255)
    .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
  const paper = luminance(getComputedStyle(document.body).backgroundColor);
  const contrasts = [...document.querySelectorAll("h1, h2, p, figcaption, th, td, dd, li, pre, svg.chart")]
    .map((item) => luminance(getComputedStyle(item).color))
    .map((ink) => (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05));
  const measured = [root.clientWidth, root.scrollWidth, cues.length, hidden, paper, Math.min(...contrasts), text];
  parent.document.documentElement.dataset.measured = measured.join("|");
});</script></head>"""

pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on this machine")


def detect_page() -> str:
    broken = dgx_h100()
    broken["rdma"]["hcas"][2]["ports"] = [down()]
    return render_detect(cluster(dgx_h100(), dgx_h100(), broken, mi300x()))


def rdma_page() -> str:
    return render_rdma(reported(nodes_with(as_it_is, symbol_errors, old_firmware)))


def preflight_page() -> str:
    def late(facts: Facts) -> None:
        facts["node"]["clock"]["wall"] = NOW - 60
        facts["node"]["kernel"]["command_line"] = ["pci=realloc=off"] * 40

    return render_preflight(report("dgx_h100_ib", late))


def sweep_page() -> str:
    return render_sweep(sweep(), "ansible-playbook muster.train.launch")


def difference_page() -> str:
    return render_difference(compare_sweeps(sweep(), earlier_sweep()))


def run_page() -> str:
    return render_run(reported_run())


def benchmark_page() -> str:
    return render_benchmark(benchmark(groups=4), [benchmark(groups=4).to_dict()] * 5)


def pairs_page() -> str:
    return render_pairs(outcome(Network(8, 1, bandwidth={(1,): 4.0}, latency={(1,): 3.0})))


def accept_page() -> str:
    known = accept_documents(rails=refused("disks", "/ is full"), pairs={"pairs": outcome(SLOW).to_dict()})
    before, now = acceptance(accept_id="accept_20261020_143052"), acceptance(known)
    return render_acceptance(replace(now, against=before.accept_id, changes=changes_between(before, now)), before, "")


# The least contrast of a text (WCAG 2.2, 1.4.3).
CONTRAST = 4.5


@pytest.mark.parametrize(("width", "is_dark"), [(1280, False), (400, True)])
@pytest.mark.parametrize(
    ("make", "texts"),
    [
        (detect_page, ["A launch would be refused", "nodes that answered 4 of 4", "GPUs 32", "RDMA devices 38"]),
        pytest.param(
            sweep_page,
            ["6 of 12 runs succeeded", "The best loss is 2.3", "2.55 2.3 timed out", "3.05 failed"],
            marks=pytest.mark.gate,
        ),
        (difference_page, ["1 better, 1 worse, 1 within the noise", "(-0.8 %)", "+14.4 %", "4.01 (4 to 4.02)"]),
        (
            run_page,
            [
                *(
                    "failed · 4 ranks on 2 nodes",
                    "loss 5.55 -> 1.93",
                    "step 4 ",
                    "median step time 100 ms",
                    "stragglers 1",
                ),
                *("2 node1 40 40 4.9 -> 1 160 ms 160 ms 62% straggler", "rank 2 on node1, 160 ms a step"),
                *("fabric D1: no RDMA devices", "ValueError: <b>no loss</b> {{ 7 * 7 }}", "0123456789abcdef main"),
            ],
        ),
        (benchmark_page, ["18.5 GB/s of bus bandwidth, 37 % of the limit", "shared by 4 groups", "1 GiB 268,435,456"]),
        (
            rdma_page,
            [
                "1 check failed, 1 check warned",
                "mlx5_0 firmware 28.38.1002 28.39.1002",
                "symbol_error bit errors on the link: cable, transceiver node1 mlx5_3 4711",
            ],
        ),
        (pairs_page, ["Slow or broken: node1", "the darker the slower", "node1 is slow: "]),
        (accept_page, ["stages rails and pairs failed", "pairs slow none node1", "name, date, signature"]),
        (preflight_page, ["Not ready for a launch", "nodes that answered 2 of 2", "at least 60.0 s behind"]),
    ],
)
def test_it_fits_and_can_be_read(
    make: Callable[[], str], texts: list[str], width: int, is_dark: bool, tmp_path: Path
) -> None:
    opened = make().replace("<details>", "<details open>")
    path = tmp_path / "page.html"
    inner = html.escape(POLICY.sub("", opened).replace("</head>", MEASURE))
    # A window has a minimum width, a frame has none.
    frame = f'<!DOCTYPE html><iframe width="{width}" height="900" style="border: 0" srcdoc="{inner}"></iframe>'
    path.write_text(frame, encoding="utf-8")
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    command += [
        f"--user-data-dir={tmp_path / 'profile'}",
        "--window-size=1400,1000",
        f"--blink-settings=preferredColorScheme={0 if is_dark else 1}",
        "--hide-scrollbars",
        "--dump-dom",
        path.as_uri(),
    ]
    document = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    measured = re.search(r'data-measured="([^"]*)"', document)
    assert measured, document[:2000]
    client, scroll, scrolled, hidden, paper, contrast, text = html.unescape(measured[1]).split("|", 6)
    assert (int(client), int(scroll)) == (width, width)
    assert (float(paper) < 0.5) is is_dark
    assert float(contrast) >= CONTRAST
    assert [part for part in texts if part not in text] == []
    if width == 400:
        assert int(hidden) == 0, "a table that can be scrolled says so"
        assert (int(scrolled) > 0) is (make not in (preflight_page, accept_page))
