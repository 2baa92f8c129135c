#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How fast the viewer's page is in a real browser: zooms and moves through a trace as a user would, and measures.

    build/release/bin/bench_view 10 made.sonde
    bench/view_browser.py build/release/bin/sonde made.sonde           over the server
    bench/view_browser.py build/release/bin/sonde made.sonde --file    as one file
    bench/view_browser.py build/release/bin/sonde made.sonde --size 2560x1440    in a larger window, with more rectangles

Prints milliseconds: until the page is ready, of waiting for the page to get a turn of the wheel, from there to the first picture (from
what is cached) and to the sharp one, and of drawing alone. On a busy machine these are longer than the work; the processor's time a step is printed as well. Needs Chromium;
draws without a GPU.
"""

import argparse
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/page"))
from browser import Browser, Page, find_browser  # noqa: E402
from check_view_page import Served  # noqa: E402

# Times from when the page gets an event of the wheel to the end of the first drawing and of the sharp one. The browser hands events over
# once a frame, so that what a person sees is up to a frame later.
WATCH = """(() => {
  const canvas = document.querySelector(".tracks canvas"), data = document.body.dataset;
  const seen = { first: [], sharp: [], draw: [], waited: [], rects: [], labels: [] };
  let start = 0, waiting = 0, tell = () => {};
  addEventListener("wheel", (event) => { start = performance.now(); seen.waited.push(start - event.timeStamp); waiting = 2; }, { capture: true, passive: true });
  new MutationObserver(() => {
    const now = performance.now() - start;
    if (waiting === 2) { waiting = 1; seen.first.push(now); seen.draw.push(Number(data.took)); }
    if (waiting === 1 && canvas.dataset.sharp === "true") {
      waiting = 0;
      seen.sharp.push(now); seen.rects.push(Number(data.drawn)); seen.labels.push(Number(data.labels));
      tell();
    }
  }).observe(document.body, { attributes: true, attributeFilter: ["data-frames"] });
  window.watched = { seen, next: () => { window.watched.sharp = new Promise((done) => { tell = done; setTimeout(done, 500); }).then(() => { waiting = 0; }); } };
})()"""
ZOOM_BY_TWO = -315  # of the wheel
AT_REST = 0.05  # seconds; what is near is fetched meanwhile


def walk(page: Page, steps: int) -> dict[str, list[float]]:
    """From the whole trace down to microseconds, with moves to the side at each zoom, as often as there are steps for."""
    random.seed(5)
    page.evaluate(WATCH)
    left = 0
    for _ in range(steps):
        if left == 0:
            page.press("0")
            page.evaluate(f"document.querySelector('.scroller').scrollTop = {random.random() * 6000}")
            page.wait_for("document.querySelector('.tracks canvas').dataset.sharp === 'true'")
            left = 3 * int(math.log2(page.evaluate("sonde.trace.length") / 3000))
        time.sleep(AT_REST)
        page.evaluate("watched.next()")
        x, y = 300 + random.random() * 1200, 400
        if left % 3 == 0:
            page.mouse("mouseWheel", x, y, deltaX=0, deltaY=ZOOM_BY_TWO, modifiers=2)
        else:
            page.mouse("mouseWheel", x, y, deltaX=420, deltaY=0, modifiers=8)
        page.evaluate("watched.sharp")
        left -= 1
    return page.evaluate("watched.seen")


def cpu_seconds(pid: int) -> float:
    """Of a process and all below it that still run."""
    parents, ticks = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)], ticks[int(stat.parent.name)] = int(fields[1]), int(fields[11]) + int(fields[12])
    wanted, total = [pid], 0
    while wanted:
        one = wanted.pop()
        total += ticks.get(one, 0)
        wanted += [child for child, parent in parents.items() if parent == one]
    return total / os.sysconf("SC_CLK_TCK")


def quantile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sonde")
    parser.add_argument("trace", type=Path)
    parser.add_argument("--file", action="store_true")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--size", default="1600x1000")
    options = parser.parse_args()
    if find_browser() is None:
        print("there is no chromium on this machine (apt-get install chromium)")
        return 1
    with tempfile.TemporaryDirectory() as folder, Browser(*map(int, options.size.split("x"))) as browser:
        server = None
        if options.file:
            path = Path(folder) / "one.html"
            subprocess.run([options.sonde, "view", options.trace, "-o", path], check=True)
            print(f"one file: {path.stat().st_size / 1e6:.1f} MB")
            address = path.as_uri()
        else:
            began = time.monotonic()
            server = Served(options.sonde, options.trace)
            print(f"opened and indexed after {time.monotonic() - began:.2f} s")
            address = server.address
        page = browser.open_address(address)
        page.wait_for("document.body && document.body.dataset.ready && (document.querySelector('.tracks canvas') || {dataset: {}}).dataset.sharp === 'true'", 120)
        print(f"first sharp picture {float(page.evaluate('document.body.dataset.sharpAt')):.0f} ms after the page was asked for")
        before = (cpu_seconds(browser.process.pid), cpu_seconds(server.process.pid) if server else 0)
        result = walk(page, options.steps)
        heap = page.evaluate("performance.memory.usedJSHeapSize / 1e6")
        page.call("HeapProfiler.collectGarbage")
        kept = page.evaluate("performance.memory.usedJSHeapSize / 1e6")
        for name in ("waited", "first", "sharp", "draw"):
            values = result[name]
            print(f"{name:14} p50 {quantile(values, 0.5):7.1f} ms   p95 {quantile(values, 0.95):7.1f} ms   most {max(values):7.1f} ms")
        print(f"{len(result['sharp'])} steps, at most {max(result['rects']):,.0f} rectangles and {max(result['labels']):,.0f} labels, heap {heap:.0f} MB, {kept:.0f} MB of it in use")
        spent = (cpu_seconds(browser.process.pid) - before[0], (cpu_seconds(server.process.pid) if server else 0) - before[1])
        print(f"CPU a step: browser {1000 * spent[0] / len(result['sharp']):.1f} ms, server {1000 * spent[1] / len(result['sharp']):.1f} ms")
        if server is not None:
            server.__exit__()
    return 0


if __name__ == "__main__":
    sys.exit(main())
