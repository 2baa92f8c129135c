#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws one cycle of a trace as a timeline, from what `sonde dump` prints.

    sonde dump 02_schedule.sonde | docs/pictures/make_readme_picture.py --window 1 > docs/pictures/readme.svg

Nothing in the picture is made up: boxes, names, steps, values and times are those of the dump.
"""

import argparse
import html
import re
import sys
from dataclasses import dataclass

SPAN = re.compile(r"^( +)([\d.]+) us \+([\d.]+) us (.+?) (?:\[(\w+)\] )?(?:step=\d+ )?window=(\d+)")
COUNTER = re.compile(r'^  time_ns=([\d.]+) us track=(\d+) name="([^"]*)" value=(\S+)')
WINDOW = re.compile(r"^  process=\d+ start_ns=([\d.]+) us end_ns=([\d.]+) us")
TRACK = re.compile(r'^track (\d+): .*name="([^"]*)"')

WIDTH, LEFT, RIGHT = 880, 128, 16
ROW, CHARACTER = 26, 7.2  # heights and text widths in pixels; a character is rounded up
FILLS = ("#8db9e8", "#f3b873", "#9fd49b", "#dba6d4", "#e6d36f", "#8fd3d1")
STEP_FILL = "#cfd4dc"

STYLE = """
  .ground { fill: #ffffff; } .text { fill: #24292f; } .faint { fill: #59636e; } .line { stroke: #d1d9e0; }
  .inside { fill: #16191d; } .mark { fill: #c2410c; } .path { stroke: #c2410c; fill: none; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117; } .text { fill: #e6edf3; } .faint { fill: #9198a1; } .line { stroke: #30363d; }
    .mark { fill: #ff9b66; } .path { stroke: #ff9b66; }
  }
  text { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
"""


@dataclass
class Span:
    track: int
    depth: int
    start: float
    length: float
    name: str
    kind: str


@dataclass
class Cycle:
    tracks: dict[int, str]
    start: float
    end: float
    spans: list[Span]
    counters: dict[str, list[tuple[float, float]]]


def read_cycle(lines: list[str], window: int) -> Cycle:
    tracks, spans, counters, windows, track = {}, [], {}, [], 0
    for line in lines:
        if found := TRACK.match(line):
            track = int(found[1])
            tracks[track] = found[2]
        elif found := SPAN.match(line):
            if int(found[6]) == window:
                spans.append(Span(track, len(found[1]) // 2 - 1, float(found[2]), float(found[3]), found[4],
                                  found[5] or "scope"))
        elif found := COUNTER.match(line):
            counters.setdefault(found[3], []).append((float(found[1]), float(found[4])))
        elif found := WINDOW.match(line):
            windows.append((float(found[1]), float(found[2])))
    if window >= len(windows) or not spans:
        sys.exit(f"make_readme_picture: no spans in window {window} of {len(windows)}")
    start, end = windows[window]
    inside = {name: [(at, value) for at, value in values if start <= at <= end] for name, values in counters.items()}
    return Cycle(tracks, start, end, spans, inside)


class Picture:
    def __init__(self, cycle: Cycle):
        self.cycle = cycle
        self.parts: list[str] = []
        self.y = 14.0
        names = [span.name for span in cycle.spans if span.kind != "step"]
        self.fills = {name: FILLS[i % len(FILLS)] for i, name in enumerate(dict.fromkeys(names))}

    def x(self, us: float) -> float:
        share = (us - self.cycle.start) / (self.cycle.end - self.cycle.start)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def text(self, x: float, y: float, words: str, style: str = "text", anchor: str = "start"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{style}" text-anchor="{anchor}">'
                          f"{html.escape(words)}</text>")

    def axis(self):
        self.text(8, self.y + 4, "microseconds", "faint")
        self.axis_top = self.y + 10
        for us in range(0, int(self.cycle.end - self.cycle.start) + 1, 50):
            self.text(self.x(self.cycle.start + us), self.y + 4, str(us), "faint", "middle")
        self.y += 20

    def grid(self):
        lines = [f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{self.axis_top:.1f}" y2="{self.y:.1f}" class="line"/>'
                 for x in (self.x(self.cycle.start + us)
                           for us in range(0, int(self.cycle.end - self.cycle.start) + 1, 50))]
        self.parts = lines + self.parts

    def spans(self, track: int):
        self.text(8, self.y + 17, f"{self.cycle.tracks[track]}")
        rows = 0
        for span in (span for span in self.cycle.spans if span.track == track):
            rows = max(rows, span.depth + 1)
            x, width = self.x(span.start), max(0.8, self.x(span.start + span.length) - self.x(span.start))
            y = self.y + span.depth * ROW
            fill = STEP_FILL if span.kind == "step" else self.fills[span.name]
            self.parts.append(f'<rect x="{x:.2f}" y="{y:.1f}" width="{width:.2f}" height="{ROW - 3}" fill="{fill}">'
                              f"<title>{html.escape(span.name)}: {span.length:.3f} us</title></rect>")
            label = f"{span.name}  {span.length:.1f}"
            if len(label) * CHARACTER + 8 < width:
                self.text(x + 5, y + 16, label, "inside")
        self.y += rows * ROW + 10

    def counter(self, name: str, values: list[tuple[float, float]]):
        height = 56.0
        self.text(8, self.y + 24, name)
        low, high = min(v for _, v in values), max(v for _, v in values)
        points = [(self.x(at), self.y + height - 24 - (value - low) / ((high - low) or 1) * (height - 32), value)
                  for at, value in values]
        self.parts.append('<polyline class="path" points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
                          + '"/>')
        for x, y, value in points:
            self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" class="mark"/>')
            self.text(x + 3, y + 18, f"{value:.3f}", anchor="end")
        self.y += height + 6

    def legend(self):
        self.y += 22
        x = LEFT
        for name, fill in self.fills.items():
            lengths = [span.length for span in self.cycle.spans if span.name == name]
            label = f"{name} {len(lengths)} x {sum(lengths) / len(lengths):.2f} us"
            width = 18 + len(label) * CHARACTER + 14
            if x + width > WIDTH - RIGHT:
                x, self.y = LEFT, self.y + 20
            self.parts.append(f'<rect x="{x:.1f}" y="{self.y - 10:.1f}" width="12" height="12" fill="{fill}"/>')
            self.text(x + 18, self.y, label)
            x += width
        self.y += 14

    def draw(self) -> str:
        self.axis()
        for track in dict.fromkeys(span.track for span in self.cycle.spans):
            self.spans(track)
        for name, values in self.cycle.counters.items():
            if values:
                self.counter(name, values)
        self.grid()
        self.legend()
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.y:.0f}" width="{WIDTH}" '
                f'height="{self.y:.0f}" role="img" aria-label="A timeline of one recorded cycle">\n'
                f"<!-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception -->\n<style>{STYLE}</style>\n"
                f'<rect class="ground" width="100%" height="100%"/>\n' + "\n".join(self.parts) + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--window", type=int, default=0, help="which cycle, from 0")
    window = parser.parse_args().window
    sys.stdout.write(Picture(read_cycle(sys.stdin.read().splitlines(), window)).draw())


if __name__ == "__main__":
    main()
