#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Takes the pictures of docs/viewer.md again, from the traces of tests/data. Needs Chromium.

    docs/pictures/make_viewer_pictures.py build/release/bin/sonde
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/page"))
from browser import Browser, Page  # noqa: E402
from check_view_page import settle, show  # noqa: E402

TRACES = ROOT / "tests/data/torch-2.11-h200"
SIZE = (1440, 900)
# Views that need less than the whole height.
HEIGHTS = {"modules": 590, "flame": 660, "communication": 430, "all_ranks": 900, "compare": 760, "ledger": 535, "kernels": 700, "operators": 700}


def take(page: Page, name: str):
    page.call("Emulation.setDeviceMetricsOverride", width=SIZE[0], height=HEIGHTS.get(name, SIZE[1]), deviceScaleFactor=1, mobile=False)
    settle(page)
    # A moment for what is asked for while drawing: names, curves.
    page.evaluate("new Promise((done) => setTimeout(() => done(true), 1500))")
    page.screenshot(ROOT / "docs/pictures" / f"{name}.png")


def timeline(page: Page):
    """The kernel of attention's backward pass, with what launched it."""
    settle(page)
    page.evaluate("""(async () => {
      const { hits: [hit] } = await sonde.search("fmha_cutlassB"), { links } = await sonde.span(hit.id);
      const thread = links.find((link) => link.how === "launched by").track;
      const others = sonde.trace.tracks.flatMap((track, i) => (track.kind === "thread" && i !== thread ? [`t${i}`] : []));
      location.hash = `t=${hit.start - 1200000},2400000&span=${hit.id}&fold=${others.join(".")}`;
    })()""")
    page.wait_for("!!document.querySelector('.panel .facts')")
    take(page, "viewer")


def views(page: Page, titles: list[str]):
    settle(page)
    for title in titles:
        show(page, title)
        take(page, title.split()[0].lower())


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    sonde = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name, Browser(*SIZE) as browser:
        folder = Path(name)
        transformer, ranks = folder / "transformer.html", folder / "ranks.html"
        files = [rank.name for rank in sorted(TRACES.glob("ranks4/rank*.json.gz"))]
        # In their own folders, so that the pictures show short names.
        subprocess.run([sonde, "view", "transformer.pt.trace.json.gz", "-o", transformer], check=True, cwd=TRACES)
        subprocess.run([sonde, "view", files[2], files[0], files[1], files[3], "--against", files[0], "-o", ranks], check=True, cwd=TRACES / "ranks4")
        page = browser.open(transformer)
        page.scheme("light")
        timeline(page)
        views(page, ["Overview", "Operators", "Kernels", "Modules", "Flame graph", "Memory", "Ledger"])
        page = browser.open(ranks)
        page.scheme("light")
        settle(page)
        take(page, "all_ranks")
        views(page, ["Communication", "Ranks", "Compare"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
