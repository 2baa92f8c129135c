#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Opens `sonde view` in a browser, from its server and as one file: does what a user would, and what a stranger should not.

    tests/page/check_view_page.py SONDE TRACE              checks the page of a trace
    … --shots FOLDER                                       keeps pictures, light and dark

Exits with 77 where there is no Chromium. Looks for faults of accessibility where viewer/node_modules has axe-core.
"""

import argparse
import json
import re
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from browser import Browser, Page, find_browser

VIEWS = ["Timeline", "Overview", "Operators", "Kernels", "Modules", "Flame graph", "Memory", "Ledger"]
AXE = Path(__file__).resolve().parents[2] / "viewer/node_modules/axe-core/axe.min.js"
# Names that would do something, or look like something else, if they were not shown as texts.
HOSTILE = ["</script><img src=x onerror=document.title=1>", "{{DATA}}{{SCRIPT}}", "a‮gnp.exe", "n" * 1_000_000]

# Tiles of all tracks at some levels, without the numbers of names, which differ between sources.
TILES = """(async () => {
  const { trace } = sonde, tracks = trace.tracks.map((_, i) => i), out = [];
  for (let level = 2; level < 34; level += 3) {
    const last = Math.floor(trace.length / (1024 * 2 ** level));
    for (const first of [0, Math.floor(last / 2), last])
      for (const t of await sonde.tiles({ level, first, count: 1, tracks }))
        out.push([t.track, t.level, t.tile, ...[t.begin, t.end, t.span, t.count, t.look].map((c) => new Uint32Array(c.buffer, c.byteOffset, c.length).join()), (await sonde.names([...t.name])).join("|")].join(" "));
  }
  return out;
})()"""


class Served:
    """`sonde view` while it runs."""

    def __init__(self, sonde: str, trace: Path, *more: str | Path):
        self.process = subprocess.Popen([sonde, "view", trace, "--no-browser", *more], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.address = re.search(r"http://\S+", line).group()
        self.port = int(re.search(r":(\d+)/", self.address).group(1))
        self.token = re.search(r"token=(\w+)", self.address).group(1)

    def __enter__(self) -> "Served":
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)

    def ask(self, head: str, body: bytes = b"") -> bytes:
        with socket.create_connection(("127.0.0.1", self.port), 10) as connection:
            connection.sendall(head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body)
            connection.shutdown(socket.SHUT_WR)
            parts = []
            while got := connection.recv(1 << 16):
                parts.append(got)
            return b"".join(parts)

    def peak_memory_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1024


def settle(page: Page):
    frames = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
    page.wait_for("document.body && document.body.dataset.ready", 60)
    page.evaluate(frames)
    page.wait_for("!document.querySelector('.waiting') || !document.querySelector('.waiting').textContent.endsWith('…')", 60)
    page.evaluate(frames)


def show(page: Page, view: str):
    page.evaluate(f"[...document.querySelectorAll('nav button')].find((b) => b.textContent === {json.dumps(view)}).click()")
    page.wait_for(f"document.querySelector('nav [aria-current]').textContent === {json.dumps(view)}")
    settle(page)


def text(page: Page, selector: str) -> str:
    return page.evaluate(f"(document.querySelector({json.dumps(selector)}) || {{textContent: ''}}).textContent")


def click_text(page: Page, selector: str, wanted: str):
    found = page.evaluate(f"(() => {{ const e = [...document.querySelectorAll({json.dumps(selector)})].find((e) => e.textContent.includes({json.dumps(wanted)})); if (e) e.click(); return !!e; }})()")
    assert found, f"nothing with '{wanted}' among {selector}"


def draws_and_forgets_its_token(page: Page, served: Served, test: unittest.TestCase):
    page.wait_for("Number(document.body.dataset.drawn) > 0 && document.querySelector('.tracks canvas').dataset.sharp === 'true'")
    test.assertNotIn(served.token, page.evaluate("location.href"))


def answers_the_first_questions(page: Page, test: unittest.TestCase):
    """The slowest step and why, who launched a kernel, what was alive at the peak, where the device idled."""
    show(page, "Overview")
    test.assertIn("The slowest is step", text(page, ".overview"))
    click_text(page, ".overview .card p button.link", "")
    settle(page)
    test.assertEqual(text(page, "nav [aria-current]"), "Timeline")
    show(page, "Overview")
    test.assertIn("Where it idled longest", text(page, ".overview"))
    click_text(page, ".overview details td button.link", "ms")
    settle(page)
    show(page, "Memory")
    test.assertIn("At its peak", text(page, "main"))
    test.assertIn("Alive at the peak, by operator", text(page, "main"))
    show(page, "Timeline")
    page.evaluate("document.getElementById('search').focus()")
    page.call("Input.insertText", text="kind:kernel")
    page.wait_for("/of|^\\d/.test((document.querySelector('.find .count') || {}).textContent || '')")
    page.press("Enter")
    page.wait_for("/Launched by/.test((document.querySelector('.panel') || {}).textContent || '')")
    test.assertIn("Operator", text(page, ".panel .links"))
    click_text(page, ".panel .links button.link", "aten::")
    page.wait_for("/Launches/.test((document.querySelector('.panel .links') || {}).textContent || '')")


def hands(page: Page, test: unittest.TestCase):
    stretch = lambda: page.evaluate("(location.hash.match(/t=(-?\\d+),(\\d+)/) || []).slice(1).map(Number)")
    page.evaluate("document.activeElement.blur()")
    for key in ("Escape", "Escape", "Escape"):
        page.press(key)
    page.press("0")
    page.wait_for("location.hash.includes('t=')")
    time.sleep(0.4)
    whole = stretch()
    place = json.loads(page.evaluate("JSON.stringify(document.querySelector('.tracks canvas').getBoundingClientRect())"))
    x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
    page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-600, modifiers=2)
    time.sleep(0.5)
    test.assertLess(stretch()[1], whole[1])
    turned = stretch()[1]
    page.call("Input.synthesizePinchGesture", x=x, y=y, scaleFactor=2, gestureSourceType="touch")
    page.wait_for(f"Number(location.hash.match(/t=-?\\d+,(\\d+)/)[1]) < {0.7 * turned}")
    page.press("0")
    page.mouse("mousePressed", x - 200, place["y"] + 20, button="left", clickCount=1)
    page.mouse("mouseMoved", x + 200, place["y"] + place["height"] - 20, button="left")
    page.mouse("mouseReleased", x + 200, place["y"] + place["height"] - 20, button="left", clickCount=1)
    page.wait_for("document.querySelectorAll('.panel tbody tr').length > 1")
    test.assertIn("Self", text(page, ".panel thead"))
    page.press("?")
    page.wait_for("document.querySelector('dialog[open]')")
    page.press("Escape")
    page.wait_for("!document.querySelector('dialog[open]')")
    page.press("Escape")


def shows_what_the_address_says(browser: Browser, served: Served, test: unittest.TestCase):
    """Of each view: what it shows is in the address, and the address shows it again."""
    states = {
        "view=operators&by=shape&rows=aten%3A%3Amm&sort=1,1": "[...document.querySelectorAll('.choice [aria-pressed=true]')].some((b) => b.textContent === 'By shape') && document.querySelector('[aria-sort=ascending]').textContent.startsWith('Self host')",
        "view=kernels&sort=4,0": "document.querySelector('[aria-sort=descending]').textContent.startsWith('Mean')",
        "view=flame&flame=device&box=3": "document.querySelectorAll('.path button').length > 1",
        "view=memory&device=cuda:0&moment=5000000": "/Back to the peak/.test(document.querySelector('main').textContent)",
    }
    for state, shown in states.items():
        page = browser.open_address(f"{served.address}&t=1000000,5000000&{state}")
        settle(page)
        page.wait_for(shown)
        page.wait_for(f"location.hash === '#t=1000000,5000000&' + {json.dumps(state)}")
        page.evaluate("location.hash = 't=2000000,4000000&q=gemm'")
        page.wait_for("document.querySelector('nav [aria-current]').textContent === 'Timeline' && !!document.querySelector('.panel tbody')")
        page.call("Page.close")


def has_no_faults(page: Page, test: unittest.TestCase, views: list[str]):
    if not AXE.exists():
        return
    page.evaluate(AXE.read_text() + "; true")
    for theme in ("light", "dark"):
        page.evaluate(f"document.documentElement.dataset.theme === {json.dumps(theme)} || document.querySelector('[aria-label=\"Light or dark\"]').click()")
        for view in views:
            show(page, view)
            faults = page.evaluate("axe.run().then((r) => r.violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => v.id + ' ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' ')))")
            test.assertEqual(faults, [], f"{view}, {theme}")


def refuses_strangers(served: Served, test: unittest.TestCase):
    host = f"Host: 127.0.0.1:{served.port}"
    status = lambda answer: answer.split(b" ")[1].decode()
    close = "Connection: close"
    test.assertEqual(status(served.ask(f"GET /api/trace HTTP/1.1\n{host}\n{close}")), "403")
    test.assertEqual(status(served.ask(f"GET /api/trace HTTP/1.1\n{host}\nX-Sonde-Token: {'0' * 32}\n{close}")), "403")
    test.assertEqual(status(served.ask(f"GET / HTTP/1.1\nHost: evil.example:{served.port}\n{close}")), "403")
    test.assertEqual(status(served.ask(f"GET /api/trace HTTP/1.1\nHost: evil.example\nX-Sonde-Token: {served.token}\n{close}")), "403")
    test.assertEqual(status(served.ask(f"GET /api/trace HTTP/1.1\n{host}\nHost: evil.example\nX-Sonde-Token: {served.token}\n{close}")), "403")
    good = served.ask(f"GET /api/trace HTTP/1.1\n{host}\nX-Sonde-Token: {served.token}\n{close}")
    test.assertEqual(status(good), "200")
    test.assertNotIn(served.token.encode(), served.ask(f"GET / HTTP/1.1\n{host}\n{close}"))
    test.assertIn(b"frame-ancestors 'none'", good)
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            test.assertNotIn(served.token.encode(), process.read_bytes())
        except OSError:
            pass


def takes_no_more_than_it_should(served: Served, test: unittest.TestCase):
    before = served.peak_memory_mb()
    piece = b"100000\r\n" + b"a" * 0x100000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", served.port), 20) as connection:
        try:
            connection.sendall(f"POST /api/tiles HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nX-Sonde-Token: {served.token}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
            for _ in range(300):
                connection.sendall(piece)
        except OSError:
            pass
    test.assertLess(served.peak_memory_mb() - before, 10)


def says_that_the_server_has_ended(browser: Browser, sonde: str, trace: Path, test: unittest.TestCase):
    with Served(sonde, trace) as served:
        page = browser.open_address(served.address)
        settle(page)
    before = len(browser.events)
    page.evaluate("sondeShow(30e6, 30.2e6)")
    page.wait_for("/Is `sonde view` still running/.test((document.querySelector('.message') || {}).textContent || '')")
    time.sleep(1)
    page.evaluate("true")
    asked = [event for event in browser.events[before:] if event.get("method") == "Network.requestWillBeSent"]
    test.assertLess(len(asked), 30, "what fails is not asked for again and again")
    page.call("Page.close")


def is_not_kept_busy_by_slow_requests(served: Served, test: unittest.TestCase):
    slow = []
    try:
        for _ in range(150):
            slow.append(socket.create_connection(("127.0.0.1", served.port), 10))
            slow[-1].sendall(b"GET / HTTP/1.1\r\n")
        answer = served.ask(f"GET / HTTP/1.1\nHost: 127.0.0.1:{served.port}\nConnection: close")
        test.assertIn(b" 200 ", answer[:20])
    finally:
        for connection in slow:
            connection.close()


def works_by_keys_alone(page: Page, test: unittest.TestCase):
    """From nothing to a kernel's operator, a table of what is shown, and back."""
    show(page, "Timeline")
    page.evaluate("document.activeElement.blur()")
    for key in ("Escape", "Escape", "Escape", "0", "."):
        page.press(key)
    page.wait_for("!!document.querySelector('.panel .facts')")
    first = text(page, ".panel h2")
    page.press("j")
    page.wait_for(f"!!document.querySelector('.panel h2') && document.querySelector('.panel h2').textContent !== {json.dumps(first)}")
    page.press("x")
    page.wait_for("document.querySelectorAll('.panel tbody tr').length > 1")
    page.press("Escape")
    page.wait_for("!document.querySelector('.panel tbody')")
    page.press("i")
    page.wait_for("/Idle for .* This work ended it/.test((document.querySelector('.panel .why') || {}).textContent || '')")
    page.press("o")
    page.wait_for("/aten::|Backward/.test((document.querySelector('.panel h2') || {}).textContent || '')")
    page.press("Escape")
    page.press("7")
    page.wait_for("!!document.querySelector('.memory-curve')")
    page.evaluate("document.querySelector('.memory-curve').focus()")
    page.press("ArrowRight")
    page.wait_for("/Back to the peak/.test(document.querySelector('main').textContent)")
    page.press("1")


def keeps_what_is_shown_of_a_growing_trace(browser: Browser, sonde: str, folder: Path, test: unittest.TestCase):
    """The file gets spans before and after those it had, and a track: what was selected stays selected."""
    event = lambda name, thread, at: {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": thread, "ts": at, "dur": 8}
    trace = folder / "live.json"
    some = [event(f"op{i}", 5, 1000 + 10 * i) for i in range(20)]
    trace.write_text(json.dumps({"traceEvents": some}))
    with Served(sonde, trace) as served:
        page = browser.open_address(served.address)
        settle(page)
        page.evaluate("location.hash = 't=100000,60000&span=12'")
        page.wait_for("/op12/.test((document.querySelector('.panel h2') || {}).textContent || '')")
        page.evaluate("document.querySelector('.choose input').focus()")
        page.call("Input.insertText", text="5")
        more = [event("early", 2, 900), *some, *(event(f"op{i}", 5, 1000 + 10 * i) for i in range(20, 40))]
        trace.write_text(json.dumps({"traceEvents": more}))
        page.wait_for("sonde.trace.spans === 41", 20)
        page.wait_for("/op12/.test((document.querySelector('.panel h2') || {}).textContent || '')")
        page.wait_for("location.hash.includes('t=200000')")
        page.wait_for("document.activeElement.matches('.choose input') && document.activeElement.value === '5' && document.activeElement.selectionStart === 1")


def shows_ranks(browser: Browser, sonde: str, traces: Path, test: unittest.TestCase):
    """Several traces: who held the others up, each timeline, and a stretch of one for Perfetto."""
    files = sorted(traces.glob("rank*.json.gz"))
    with Served(sonde, files[0], *files[1:]) as served:
        page = browser.open_address(served.address)
        settle(page)
        show(page, "Ranks")
        test.assertIn("Rank 2 holds the others up", text(page, "main"))
        test.assertEqual(page.evaluate("document.querySelectorAll('.heat rect').length % 4"), 0)
        has_no_faults(page, test, ["Communication", "Ranks"])
        test.assertTrue(page.evaluate("(() => { const s = document.querySelector('select.file').getBoundingClientRect(); return s.width > 60 && s.right < innerWidth; })()"))
        shows_all_ranks_on_one_timeline(page, test)
        show(page, "Ranks")
        choose = "(() => { const s = document.querySelector('select.file'); s.value = [...s.options].findIndex((one) => one.text.startsWith('rank2')); s.dispatchEvent(new Event('change', { bubbles: true })); })()"
        page.evaluate(choose)
        page.wait_for("window.sonde && sonde.trace.name.endsWith('rank2.pt.trace.json.gz')")
        settle(page)
        test.assertEqual(text(page, "nav [aria-current]"), "Ranks")
        show(page, "Timeline")
        page.wait_for("Number(document.body.dataset.drawn) > 0")
        shows_the_same_time_of_another_rank(page, test)
        whole, part = page.evaluate("Promise.all([sonde.perfetto(null), sonde.perfetto({ from: 0, to: sonde.trace.length / 50 })]).then((all) => all.map((b) => b.byteLength))")
        test.assertTrue(0 < part < whole / 2, f"{part} of {whole} bytes")


def shows_all_ranks_on_one_timeline(page: Page, test: unittest.TestCase):
    """A step of a rank, on the timeline that has all of them."""
    test.assertEqual(page.evaluate("[...new Set(sonde.trace.processes.map((one) => one.rank))].sort().join()"), "0,1,2,3")
    cell = "[...document.querySelectorAll('.heat rect')].find((one) => /rank 2/.test(one.textContent))"
    page.evaluate(f"{cell}.dispatchEvent(new Event('click', {{ bubbles: true }}))")
    page.wait_for("/ProfilerStep/.test((document.querySelector('.panel h2') || {}).textContent || '')")
    test.assertEqual(text(page, "nav [aria-current]"), "Timeline")
    rank_of = "(process) => sonde.trace.processes[process].rank"
    test.assertEqual(page.evaluate(f"sonde.trace.steps.map((step) => ({rank_of})(step[4])).sort().join()"), "0,0,1,1,2,2,3,3")
    page.wait_for("location.hash.includes('span=')")
    selected = "Number(location.hash.match(/span=([0-9]+)/)[1])"
    test.assertEqual(page.evaluate(f"sonde.span({selected}).then((one) => ({rank_of})(sonde.trace.tracks[one.track].process))"), 2)


def shows_the_same_time_of_another_rank(page: Page, test: unittest.TestCase):
    """On the job's clock, which differs between these traces by less than a millisecond."""
    moment = "(() => { const [from, length] = location.hash.match(/t=(-?\\d+),(\\d+)/).slice(1).map(Number); return [Number(BigInt(sonde.trace.first) / 1000n) + from / 1000, length]; })()"
    page.evaluate("sondeShow(10e6, 14e6)")
    page.wait_for("location.hash.includes('t=10000000,4000000')")
    before = page.evaluate(moment)
    page.press(">")
    page.wait_for("window.sonde && sonde.trace.name.endsWith('rank3.pt.trace.json.gz')")
    page.wait_for("/t=\\d+,4000000/.test(location.hash)")
    after = page.evaluate(moment)
    test.assertLess(abs(after[0] - before[0]), 1000)
    test.assertNotEqual(page.evaluate("location.hash.match(/t=(\\d+)/)[1]"), "10000000")


def shows_jobs_and_changes(browser: Browser, sonde: str, traces: Path, folder: Path, test: unittest.TestCase):
    """`sonde job` and `sonde diff` write the same page, with one view."""
    files = sorted(traces.glob("rank*.json.gz"))
    job, diff, both = folder / "job.html", folder / "diff.html", folder / "both.html"
    subprocess.run([sonde, "job", *files, "-o", job], check=True)
    subprocess.run([sonde, "diff", files[0], files[2], "-o", diff], check=True)
    subprocess.run([sonde, "view", files[2], "--against", files[0], "-o", both], check=True)
    for path, view, words in ((job, "Ranks", "Rank 2 holds the others up"), (diff, "Compare", "Time of a step")):
        page = browser.open(path)
        settle(page)
        test.assertEqual(text(page, "nav"), view)
        test.assertIn(words, text(page, "main"))
    page = browser.open(both)
    settle(page)
    has_no_faults(page, test, ["Compare"])
    show(page, "Compare")
    test.assertGreater(page.evaluate("document.querySelectorAll('.compare .flame .box').length"), 3)
    click_text(page, ".compare td button.link", "timeline")
    settle(page)
    test.assertEqual(text(page, "nav [aria-current]"), "Timeline")


def shows_hostile_names_as_text(browser: Browser, sonde: str, folder: Path, test: unittest.TestCase):
    events = [{"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": 10 * i, "dur": 9, "args": {name[:200]: name[:200]}} for i, name in enumerate(HOSTILE)]
    trace, path = folder / "hostile.json", folder / "<b>hostile.html"
    trace.write_text(json.dumps({"traceEvents": events}))
    subprocess.run([sonde, "view", trace, "-o", path], check=True)
    page = browser.open(path)
    settle(page)
    for view in VIEWS:
        show(page, view)
        test.assertEqual(page.evaluate("document.querySelectorAll('img, b b').length"), 0, view)
    test.assertIn("Sonde", page.evaluate("document.title"))
    details = page.evaluate("Promise.all([0, 1, 2, 3].map((i) => sonde.span(i))).then((all) => all.map((s) => s.name))")
    test.assertIn("onerror", details[0])
    test.assertNotIn("‮", details[2])


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
    with tempfile.TemporaryDirectory() as name, Browser(1440, 900) as browser, Served(options.sonde, options.trace) as served:
        folder = Path(name)
        page = browser.open_address(served.address)
        page.scheme("light")
        settle(page)
        draws_and_forgets_its_token(page, served, test)
        for view in VIEWS:
            show(page, view)
            if options.shots:
                options.shots.mkdir(parents=True, exist_ok=True)
                page.screenshot(options.shots / f"{view.split()[0].lower()}.png")
        answers_the_first_questions(page, test)
        hands(page, test)
        works_by_keys_alone(page, test)
        shows_what_the_address_says(browser, served, test)
        has_no_faults(page, test, VIEWS)
        tiles = page.evaluate(TILES)
        refuses_strangers(served, test)
        takes_no_more_than_it_should(served, test)
        is_not_kept_busy_by_slow_requests(served, test)
        says_that_the_server_has_ended(browser, options.sonde, options.trace, test)

        path = folder / "one.html"
        subprocess.run([options.sonde, "view", options.trace, "-o", path], check=True)
        browser.events.clear()
        alone = browser.open(path)
        settle(alone)
        test.assertEqual(alone.evaluate(TILES), tiles, "the page's own tiles are those of the server")
        for view in VIEWS:
            show(alone, view)
        answers_the_first_questions(alone, test)
        shows_hostile_names_as_text(browser, options.sonde, folder, test)
        shows_jobs_and_changes(browser, options.sonde, options.trace.parent / "ranks4", folder, test)
        # The page of the server is still open, and asks its own server whether the trace has grown.
        test.assertEqual([p for p in alone.problems() if f"127.0.0.1:{served.port}/api/version" not in p], [])
        keeps_what_is_shown_of_a_growing_trace(browser, options.sonde, folder, test)
        shows_ranks(browser, options.sonde, options.trace.parent / "ranks4", test)
        print(f"{path.stat().st_size / 1e3:.0f} kB as one file, {len(tiles)} tiles compared")
    return 0


if __name__ == "__main__":
    sys.exit(main())
