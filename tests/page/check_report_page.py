#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Opens a report's page in a browser: it shows what the report says, reacts to clicks, and loads nothing.

    tests/page/check_report_page.py SONDE TRACE            makes the page of a trace and checks it
    … --shots FOLDER                                       keeps pictures, light and dark

Exits with 77 where there is no Chromium.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from browser import Browser, Page, find_browser

# A name that would run code if it were not shown as text.
HOSTILE = """{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "</script><img src=x onerror=document.title=1>&amp;\\u2028{{META}}",
  "pid": 1, "tid": 1, "ts": 0, "dur": 100, "args": {}}]}"""


def text(page: Page, selector: str) -> str:
    return page.evaluate(f"document.querySelector({json.dumps(selector)}).textContent")


def count(page: Page, selector: str) -> int:
    return page.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")


def opened(browser: Browser, path: Path) -> Page:
    page = browser.open(path)
    page.scheme("light")
    page.wait_for("document.body && document.body.dataset.ready", 60)
    return page


def check(page: Page, report: dict, test: unittest.TestCase):
    test.assertIn(report["verdict"], text(page, "#verdict"))
    titles = page.evaluate('[...document.querySelectorAll(".finding h3")].map((e) => e.textContent)')
    test.assertEqual(titles, [finding["title"] for finding in report["findings"]])
    test.assertEqual(count(page, "#steps svg g"), len(report["steps"]))
    test.assertEqual(count(page, "#devices .stack"), len(report["devices"]))
    test.assertGreater(count(page, "#shares .bar"), 3)
    for device in page.evaluate('[...document.querySelectorAll("#devices .stack")].map((e) => [...e.children].reduce((s, i) => s + i.offsetWidth, 0) / e.offsetWidth)'):
        test.assertAlmostEqual(device, 1, delta=0.02, msg="the parts of a device's time fill its bar")


def check_flame(page: Page, test: unittest.TestCase):
    boxes = count(page, "#flame div")
    test.assertGreater(boxes, 5)
    test.assertEqual(page.evaluate("document.body.dataset.flame"), "all threads")
    page.evaluate('document.querySelectorAll("#flame div")[2].click()')
    test.assertNotEqual(page.evaluate("document.body.dataset.flame"), "all threads")
    page.evaluate('document.querySelectorAll("#flame div")[0].click()')
    test.assertEqual(count(page, "#flame div"), boxes)


def check_dark(page: Page, test: unittest.TestCase):
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.evaluate('document.getElementById("theme").click()')
    test.assertNotEqual(page.evaluate("getComputedStyle(document.body).backgroundColor"), light)


def check_hostile(browser: Browser, sonde: str, folder: Path, test: unittest.TestCase):
    trace, path = folder / "hostile.json", folder / "hostile.html"
    trace.write_text(HOSTILE)
    subprocess.run([sonde, "report", trace, "-o", path], check=True)
    page = opened(browser, path)
    test.assertIn("onerror", text(page, "#shares"))
    test.assertEqual(count(page, "img"), 0)
    test.assertIn("hostile", page.evaluate("document.title"))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("sonde")
    parser.add_argument("trace", type=Path)
    parser.add_argument("--shots", type=Path)
    options = parser.parse_args()
    if find_browser() is None:
        print("skipped: there is no chromium on this machine (apt-get install chromium)")
        return 77
    test = unittest.TestCase()
    with tempfile.TemporaryDirectory() as name, Browser() as browser:
        folder = Path(name)
        path = folder / "report.html"
        subprocess.run([options.sonde, "report", options.trace, "-o", path], check=True)
        report = json.loads(subprocess.run([options.sonde, "report", options.trace, "--format", "json"], check=True, capture_output=True).stdout)
        page = opened(browser, path)
        if options.shots:
            options.shots.mkdir(parents=True, exist_ok=True)
            page.screenshot(options.shots / "report-light.png")
        check(page, report, test)
        check_flame(page, test)
        check_dark(page, test)
        if options.shots:
            page.screenshot(options.shots / "report-dark.png")
        check_hostile(browser, options.sonde, folder, test)
        test.assertEqual(page.problems(), [])
        print(f"{path.stat().st_size / 1e3:.0f} kB, {len(report['findings'])} findings")
    return 0


if __name__ == "__main__":
    sys.exit(main())
