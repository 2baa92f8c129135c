#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How fast the viewer's page is in a real browser: zooms and moves through a trace as a user would, and measures.

    build/release/bin/bench_view 10 made.sonde
    bench/view_browser.py build/release/bin/sonde made.sonde           over the server
    bench/view_browser.py build/release/bin/sonde made.sonde --file    as one file

Prints milliseconds: until the page is ready, from a step to its first picture (from what is cached) and to the sharp one, with the
wait for the browser's next frame, and of drawing alone. On a busy machine these are longer than the work; the processor's time a step
is printed as well. Needs Chromium; draws without a GPU.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/page"))
from browser import Browser, find_browser  # noqa: E402
from check_view_page import Served  # noqa: E402

# Twelve ways from the whole trace down to microseconds, with moves to the side at each zoom.
WALK = """(async (steps) => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const frames = () => Number(document.body.dataset.frames);
  const canvas = document.querySelector(".tracks canvas"), length = sonde.trace.length;
  let seed = 5; const random = () => { seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0; return seed / 2 ** 32; };
  const first = [], sharp = [], draw = [], rects = [], labels = [];
  while (first.length < steps) {
    let span = length; const centre = random() * length; document.querySelector(".scroller").scrollTop = random() * 6000;
    while (span > 3000 && first.length < steps) for (const shift of [0, 0.3, 0.6]) {
      const from = Math.max(0, Math.min(length - span, centre - span / 2 + shift * span));
      const start = performance.now(), before = frames();
      sondeShow(from, from + span);
      while (frames() === before && performance.now() - start < 1000) await frame();
      first.push(performance.now() - start);
      while (canvas.dataset.sharp !== "true") await frame();
      sharp.push(performance.now() - start);
      draw.push(Number(document.body.dataset.took)); rects.push(Number(document.body.dataset.drawn)); labels.push(Number(document.body.dataset.labels));
      if (shift === 0.6) span /= 2;
    }
  }
  return { first, sharp, draw, rects, labels, heap: performance.memory.usedJSHeapSize / 1e6 };
})"""


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
    options = parser.parse_args()
    if find_browser() is None:
        print("there is no chromium on this machine (apt-get install chromium)")
        return 1
    with tempfile.TemporaryDirectory() as folder, Browser(1600, 1000) as browser:
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
        began = time.monotonic()
        page = browser.open_address(address)
        page.wait_for("document.body && document.body.dataset.ready && (document.querySelector('.tracks canvas') || {dataset: {}}).dataset.sharp === 'true'", 120)
        print(f"first sharp picture after {1000 * (time.monotonic() - began):.0f} ms")
        before = (cpu_seconds(browser.process.pid), cpu_seconds(server.process.pid) if server else 0)
        result = page.evaluate(f"{WALK}({options.steps})")
        page.call("HeapProfiler.collectGarbage")
        kept = page.evaluate("performance.memory.usedJSHeapSize / 1e6")
        for name in ("first", "sharp", "draw"):
            values = result[name]
            print(f"{name:14} p50 {quantile(values, 0.5):7.1f} ms   p95 {quantile(values, 0.95):7.1f} ms   most {max(values):7.1f} ms")
        print(f"{len(result['sharp'])} steps, at most {max(result['rects']):,.0f} rectangles and {max(result['labels']):,.0f} labels, heap {result['heap']:.0f} MB, {kept:.0f} MB of it in use")
        spent = (cpu_seconds(browser.process.pid) - before[0], (cpu_seconds(server.process.pid) if server else 0) - before[1])
        print(f"CPU a step: browser {1000 * spent[0] / len(result['sharp']):.1f} ms, server {1000 * spent[1] / len(result['sharp']):.1f} ms")
        if server is not None:
            server.__exit__()
    return 0


if __name__ == "__main__":
    sys.exit(main())
