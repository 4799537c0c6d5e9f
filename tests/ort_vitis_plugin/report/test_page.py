"""A page is valid, whole without a network, usable without a mouse, and shows what the call found."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from ort_vitis_plugin.report.page import blocks, distribution_path, error_lines, page
from tests.ort_vitis_plugin.entry.test_report_data import data

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
AXE = os.environ.get("AXE_CORE")  # axe.min.js of npm's axe-core


@cache
def drawn() -> str:
    pytest.importorskip("jinja2")
    return page(data(), "Digits <1>")


def test_the_page_is_valid_html() -> None:
    html5lib = pytest.importorskip("html5lib")
    parser = html5lib.HTMLParser(strict=False)
    parser.parse(drawn())
    assert parser.errors == []


def test_the_page_needs_nothing_else_and_is_small() -> None:
    text = drawn()
    assert re.findall(r"""(?:src|href)=["'](?!#)[^"']*""", text) == []
    assert "url(" not in text
    assert "@import" not in text
    assert len(text) < 3_000_000 * len(data()["layers"]) / 1000 + 100_000


def test_text_of_the_model_is_no_markup() -> None:
    assert "&lt;first&gt;" in drawn()
    assert "<first>" not in drawn()
    assert "<title>Digits &lt;1&gt;</title>" in drawn()


def test_the_page_can_be_read_by_ear_and_used_by_keyboard() -> None:
    text = drawn()
    assert '<html lang="en">' in text
    assert len(re.findall("<h1", text)) == 1
    assert len(re.findall("<table", text)) == len(re.findall("<caption", text))
    drawings, headings = re.findall("<svg[^>]*>", text), re.findall("<th(?= |>)[^>]*>", text)
    assert drawings
    assert headings
    assert all('role="img"' in svg and "aria-label=" in svg for svg in drawings)
    assert all("scope=" in cell for cell in headings)
    ids = re.findall(r'\bid="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    names = [*re.findall('<h2 id="[^"]*">([^<]*)', text), *re.findall('role="region" aria-label="([^"]*)"', text)]
    assert len(names) == len(set(names))
    assert set(re.findall(r'href="#([^"]*)"', text)) <= set(ids)
    tables = re.findall(r'<table class="sortable">.*?</thead>', text, re.DOTALL)
    assert tables
    for table in tables:
        assert len(re.findall("<th ", table)) == len(re.findall('<button type="button">', table))


def test_both_colour_schemes_and_phones_are_thought_of() -> None:
    assert "prefers-color-scheme: dark" in drawn()
    assert 'name="viewport"' in drawn()
    # Contrast of text, by the rule of WCAG: at least 4.5 to 1 in both schemes.
    for scheme in re.findall(r":root \{(.*?)\}", drawn(), re.DOTALL):
        colour = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", scheme))
        for ink in ("ink", "link", "good", "bad"):
            for paper in ("paper", "soft"):
                assert contrast(colour[ink], colour[paper]) >= 4.5, (ink, paper)
        for paper in ("quantized", "float", "away"):
            assert contrast(colour["ink"], colour[paper]) >= 4.5, paper


def contrast(one: str, other: str) -> float:
    lights = sorted((luminance(one), luminance(other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_plots_are_drawn_within_their_frames() -> None:
    assert distribution_path({"distribution": None, "range": None}) is None
    layer = {"distribution": {"counts": [1, 0, 9], "low": -1.0, "high": 2.0}, "range": {"low": -4.0, "high": 4.0}}
    plot = distribution_path(layer)
    assert plot is not None
    assert plot["bars"].count("M") == 2
    assert plot["marks"] == [6.0, 314.0]
    nodes = [{"tensor": name, "state": state} for name, state in (("a", "x"), ("b", "x"), ("c", "y"))]
    assert [len(block["nodes"]) for block in blocks(nodes)] == [2, 1]
    layers = [{"tensor": name, "constant": False, "through": None, "alone": 40.0} for name in ("a", "b")]
    assert error_lines({"nodes": nodes, "layers": layers})["through"] == "0.0,0.0 960.0,0.0"
    assert error_lines({"nodes": nodes, "layers": layers[:1]}) == {}


ACTED = """<script>
const head = [...document.querySelectorAll("table.sortable th button")].find(each => each.textContent === "alone");
head.click();
const rows = [...document.querySelector("table.sortable").tBodies[0].rows];
const cells = rows.map(row => Number(row.cells[3].dataset.value));
document.body.dataset.sorted = String(cells.every((value, at) => !at || cells[at - 1] <= value));
const link = document.querySelector('table.sortable a[href^="#plot-"]');
link.click();
document.body.dataset.followed = String(Boolean(document.querySelector(location.hash + " svg")));
</script></body>"""


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_a_browser_sorts_follows_links_and_draws(tmp_path: Path) -> None:
    file, shot = tmp_path / "page.html", tmp_path / "shot.png"
    file.write_text(drawn().replace("</body>", ACTED), encoding="utf-8")
    base = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000"]
    found = subprocess.run([*base, "--dump-dom", file.as_uri()], capture_output=True, text=True, check=True, timeout=60)
    assert 'data-sorted="true"' in found.stdout
    assert 'data-followed="true"' in found.stdout
    subprocess.run(
        [*base, "--window-size=390,844", f"--screenshot={shot}", file.as_uri()],
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert shot.stat().st_size > 1000


JUDGED = """<script>%s</script><script>
axe.run().then(found => {
  const told = found.violations.map(each => [each.id, each.nodes.map(node => node.html)]);
  document.body.dataset.violations = JSON.stringify([found.passes.length, told]);
});
</script></body>"""


@pytest.mark.skipif(
    CHROMIUM is None or AXE is None, reason="chromium is not installed, or AXE_CORE names no axe.min.js"
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_to_object_to(tmp_path: Path, scheme: str) -> None:
    file = tmp_path / "page.html"
    judge = Path(str(AXE)).read_text(encoding="utf-8")
    file.write_text(drawn().replace("</body>", JUDGED % judge), encoding="utf-8")
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000"]
    if scheme == "dark":
        command.append("--blink-settings=preferredColorScheme=0")
    found = subprocess.run(
        [*command, "--dump-dom", file.as_uri()], capture_output=True, text=True, check=True, timeout=120
    )
    told = re.search('data-violations="([^"]*)"', found.stdout)
    assert told
    passed, violations = json.loads(html.unescape(told[1]))
    assert passed > 10
    assert violations == []
