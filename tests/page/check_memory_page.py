#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Opens the page of a memory timeline in a browser: it draws, reacts to the pointer, zooms, and loads nothing.

    tests/page/check_memory_page.py SONDE TRACE            makes the page of a trace and checks it
    tests/page/check_memory_page.py --page FILE            checks an existing page, and says how fast it draws
    … --shots FOLDER                                       keeps pictures, light and dark

Exits with 77 where there is no Chromium.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from browser import Browser, Page, find_browser

COLOURS = """(() => {
  const c = document.getElementById("plot"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
  const seen = new Map();
  for (let i = 0; i < d.length; i += 4) { const k = d[i] << 16 | d[i + 1] << 8 | d[i + 2]; if (d[i + 3]) seen.set(k, (seen.get(k) || 0) + 1); }
  return [...seen.values()].filter((n) => n > 400).length;
})()"""
PICTURE = """(() => {
  const c = document.getElementById("plot"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
  let h = 0; for (let i = 0; i < d.length; i += 4) h = (h * 31 + (d[i] << 16 | d[i + 1] << 8 | d[i + 2])) | 0;
  return h;
})()"""
PLACE = 'JSON.stringify((({left, top, width, height}) => ({left, top, width, height}))(document.getElementById("plot").getBoundingClientRect()))'


def view(page: Page) -> tuple[float, float]:
    low, high = page.evaluate("document.body.dataset.view").split()
    return float(low), float(high)


class Checks:
    def __init__(self, page: Page, test: unittest.TestCase):
        self.page, self.test = page, test
        page.wait_for("document.body && document.body.dataset.ready", 60)
        test.assertEqual(page.evaluate("document.body.dataset.ready"), "1", page.evaluate('document.getElementById("note").textContent'))
        self.place = json.loads(page.evaluate(PLACE))

    def at(self, part: float) -> tuple[float, float]:
        return self.place["left"] + 74 + part * (self.place["width"] - 90), self.place["top"] + 0.5 * self.place["height"]

    def settle(self):
        self.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def draws(self):
        self.test.assertGreaterEqual(self.page.evaluate(COLOURS), 4, "areas of several categories")
        self.test.assertIn("peak", self.page.evaluate('document.getElementById("facts").textContent'))

    def hovers(self):
        self.page.mouse("mouseMoved", *self.at(0.4))
        self.settle()
        tip = self.page.evaluate('(({style, textContent}) => style.display === "block" ? textContent : "")(document.getElementById("tip"))')
        self.test.assertRegex(tip, r"[0-9.]+ (µs|ms|s).*[0-9.]+ [KMGT]?i?B")

    def zooms(self) -> list[float]:
        self.page.evaluate('document.getElementById("all").click()')
        self.settle()
        before, picture = view(self.page), self.page.evaluate(PICTURE)
        times = []
        for _ in range(12):
            self.page.mouse("mouseWheel", *self.at(0.74), deltaX=0, deltaY=-240)
            self.settle()
            times.append(float(self.page.evaluate("document.body.dataset.drawMs")))
        after = view(self.page)
        self.test.assertLess(after[1] - after[0], (before[1] - before[0]) / 10)
        self.test.assertNotEqual(self.page.evaluate(PICTURE), picture)
        self.page.evaluate('document.getElementById("all").click()')
        self.settle()
        self.test.assertEqual(view(self.page), before)
        return times

    def clicks(self):
        self.page.click(*self.at(0.74))
        self.settle()
        self.test.assertGreater(self.page.evaluate('document.querySelectorAll("#alive tbody tr").length'), 3)
        self.test.assertIn("Held at", self.page.evaluate('document.querySelector("#alive h2").textContent'))

    def turns_dark(self):
        light = self.page.evaluate("getComputedStyle(document.body).backgroundColor")
        self.page.scheme("dark")
        self.settle()
        self.test.assertNotEqual(self.page.evaluate("getComputedStyle(document.body).backgroundColor"), light)

    def hides_a_category(self):
        picture = self.page.evaluate(PICTURE)
        self.page.evaluate('document.querySelector("#legend input").click()')
        self.settle()
        self.test.assertNotEqual(self.page.evaluate(PICTURE), picture)
        self.page.evaluate('document.querySelector("#legend input").click()')


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("sonde", nargs="?")
    parser.add_argument("trace", nargs="?", type=Path)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--shots", type=Path)
    options = parser.parse_args()
    if find_browser() is None:
        print("skipped: there is no chromium on this machine (apt-get install chromium)")
        return 77
    test = unittest.TestCase()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        path = options.page or Path(folder) / "memory.html"
        if options.page is None:
            subprocess.run([options.sonde, "memory", options.trace, "-o", path], check=True)
        began = time.monotonic()
        page = browser.open(path)
        page.scheme("light")
        checks = Checks(page, test)
        loaded = time.monotonic() - began
        if options.shots:
            options.shots.mkdir(parents=True, exist_ok=True)
            page.screenshot(options.shots / "memory-light.png")
        checks.draws()
        checks.hovers()
        if options.shots:
            page.screenshot(options.shots / "memory-hover.png")
        times = checks.zooms()
        checks.clicks()
        checks.hides_a_category()
        checks.turns_dark()
        if options.shots:
            page.screenshot(options.shots / "memory-dark.png")
        test.assertEqual(page.problems(), [])
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, ready in {loaded:.2f} s, "
              f"a frame of zooming {min(times):.1f} to {max(times):.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
