// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The page of a job; {{DATA}} stands where its data goes.

namespace sonde::detail {

// clang-format off
inline constexpr char kJobPage[] = R"page(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Job</title>
<style>
:root { color-scheme: light dark; --paper: #fbfbfa; --card: #ffffff; --ink: #1d2126; --quiet: #66707c; --line: #dfe3e8; --mark: #c0392b; --c0: #2e7d4f; --c4: #e0603f; --c5: #2f5fc4; --c7: #aab2bb; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171b; --card: #1b1f25; --ink: #e6e9ed; --quiet: #98a2ae; --line: #2e353d; --mark: #ff7a6b; --c0: #4fae78; --c4: #ef7d5e; --c5: #5b8af0; --c7: #717b87; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 14px/1.45 system-ui, "DejaVu Sans", sans-serif; }
main { max-width: 1400px; margin: 0 auto; padding: 20px 24px 40px; }
header { display: flex; flex-wrap: wrap; gap: 6px 24px; align-items: baseline; }
h1 { font-size: 20px; margin: 0; font-weight: 600; }
h2 { font-size: 15px; margin: 24px 0 8px; font-weight: 600; }
.facts, .help, .quiet { color: var(--quiet); }
.help { font-size: 12.5px; margin: 6px 2px; }
.verdict { font-size: 16px; margin: 10px 0 0; overflow-wrap: anywhere; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px; overflow-x: auto; }
svg text { fill: var(--quiet); font-size: 11px; font-family: inherit; }
svg text.blamed { fill: var(--mark); font-weight: 600; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-weight: 500; color: var(--quiet); border-bottom: 1px solid var(--line); padding: 4px 10px 4px 0; }
td { border-bottom: 1px solid var(--line); padding: 3px 10px 3px 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
td.n, th.n { text-align: right; white-space: nowrap; }
</style>
</head>
<body>
<main>
<header><h1>Job</h1><span class="facts" id="facts"></span></header>
<div id="sentences"></div>
<ul id="notes" class="quiet"></ul>
<section id="why"><h2>What the late rank did longer than the others</h2><div class="card"><table><thead><tr><th class="n">longer</th><th class="n">own</th><th class="n">others</th><th>what</th></tr></thead><tbody id="causes"></tbody></table></div></section>
<section id="heat"><h2>Steps and ranks</h2><p class="help">Red: the rank held others up. Blue: it waited for others. Darker is longer.</p><div class="card" id="map"></div></section>
<section><h2>Who waited, and who held others up</h2><div class="card" id="waits"></div></section>
<section><h2>Clocks</h2><p class="help">What was added to each rank's times. The thick part is the stated error, the thin line what is possible at all, cut at the widest that is drawn.</p><div class="card" id="clocks"></div></section>
</main>
<noscript>This page needs JavaScript to draw its pictures. It loads nothing from the network.</noscript>
<script id="data" type="application/json">{{DATA}}</script>
<script>
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const NS = 'http://www.w3.org/2000/svg';
const by = id => document.getElementById(id);
function time(ns) {
  const size = Math.abs(ns);
  if (size >= 1e9) return (ns / 1e9).toFixed(3) + ' s';
  if (size >= 1e6) return (ns / 1e6).toFixed(2) + ' ms';
  if (size >= 1e3) return (ns / 1e3).toFixed(1) + ' us';
  return ns + ' ns';
}
function make(parent, name, attributes, text) {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.appendChild(element);
  return element;
}
function picture(id, width, height) {
  const svg = make(by(id), 'svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'img'});
  return svg;
}
function tip(element, text) { make(element, 'title', {}, text); }
function label(svg, rank, y) {
  make(svg, 'text', {x: 62, y: y + 11, 'text-anchor': 'end', class: rank === data.blamed ? 'blamed' : ''}, 'rank ' + rank);
}

by('facts').textContent = `${data.name} · ${data.all_ranks} ranks · ${data.all_steps} steps`;
document.title = 'Job: ' + data.name;
for (const sentence of data.sentences) {
  const p = document.createElement('p');
  p.className = 'verdict';
  p.textContent = sentence;
  by('sentences').appendChild(p);
}
for (const note of data.notes) {
  const li = document.createElement('li');
  li.textContent = note;
  by('notes').appendChild(li);
}
if (data.causes.length === 0) by('why').remove();
for (const cause of data.causes) {
  const row = by('causes').insertRow();
  for (const [text, kind] of [[time(cause.extra), 'n'], [time(cause.own), 'n'], [time(cause.others), 'n'], [cause.cause + ': ' + cause.name, '']]) {
    const cell = row.insertCell();
    cell.className = kind;
    cell.textContent = text;
  }
}

if (data.steps.length === 0) {
  by('heat').remove();
} else {
  const cell = Math.max(4, Math.min(40, Math.floor(1100 / data.steps.length)));
  const line = data.ranks.length > 64 ? 6 : 16;
  const svg = picture('map', 80 + cell * data.steps.length, 24 + line * data.ranks.length);
  const row = new Map(data.ranks.map((rank, i) => [rank.rank, i]));
  data.ranks.forEach((rank, i) => { if (line > 10) label(svg, rank.rank, 20 + i * line); });
  data.steps.forEach((step, column) => {
    if (cell > 24 || column % 10 === 0) make(svg, 'text', {x: 70 + column * cell, y: 12}, step.step);
    for (const [rank, duration, wait, caused] of step.ranks) {
      if (!row.has(rank)) continue;
      const whole = Math.max(step.duration, 1);
      const strength = Math.min(1, (caused > 0 ? caused : wait) / whole);
      const box = make(svg, 'rect', {x: 70 + column * cell, y: 20 + row.get(rank) * line, width: cell - 1, height: line - 1,
        fill: caused > 0 ? 'var(--c4)' : 'var(--c5)', 'fill-opacity': (0.06 + 0.94 * strength).toFixed(3)});
      tip(box, `step ${step.step}, rank ${rank}: ${time(duration)}, waited ${time(wait)}, held others up ${time(caused)}`);
    }
  });
}

{
  const line = 18;
  const most = Math.max(1, ...data.ranks.map(rank => Math.max(rank.wait, rank.caused)));
  const svg = picture('waits', 1000, 8 + line * data.ranks.length);
  data.ranks.forEach((rank, i) => {
    const y = 2 + i * line;
    label(svg, rank.rank, y);
    const wait = make(svg, 'rect', {x: 70, y: y + 1, width: 640 * rank.wait / most, height: 7, fill: 'var(--c5)'});
    tip(wait, 'waited ' + time(rank.wait));
    const caused = make(svg, 'rect', {x: 70, y: y + 9, width: 640 * rank.caused / most, height: 7, fill: 'var(--c4)'});
    tip(caused, 'held others up ' + time(rank.caused));
    make(svg, 'text', {x: 80 + 640 * Math.max(rank.wait, rank.caused) / most, y: y + 12}, `waited ${time(rank.wait)}` + (rank.caused > 0 ? `, held others up ${time(rank.caused)}` : ''));
  });
}

{
  const line = 18;
  const svg = picture('clocks', 1000, 8 + line * data.ranks.length);
  const widest = Math.max(1, ...data.ranks.map(rank => rank.error * 4));
  const x = ns => 470 + 350 * Math.max(-1, Math.min(1, ns / widest));
  data.ranks.forEach((rank, i) => {
    const y = 2 + i * line;
    label(svg, rank.rank, y);
    if (!rank.aligned) { make(svg, 'text', {x: 80, y: y + 11}, 'no collective joins it to the others'); return; }
    make(svg, 'text', {x: 190, y: y + 11, 'text-anchor': 'end'}, (rank.offset < 0 ? '' : '+') + time(rank.offset));
    const bounds = make(svg, 'line', {x1: x(rank.low - rank.offset), x2: x(rank.high - rank.offset), y1: y + 8, y2: y + 8, stroke: 'var(--c7)', 'stroke-width': 2});
    tip(bounds, `possible: from ${time(rank.low)} to ${time(rank.high)}`);
    const bar = make(svg, 'rect', {x: x(-rank.error), y: y + 4, width: Math.max(1, x(rank.error) - x(-rank.error)), height: 8, rx: 3, fill: 'var(--c0)'});
    tip(bar, `${time(rank.offset)} ± ${time(rank.error)}`);
    make(svg, 'text', {x: 840, y: y + 11}, '± ' + time(rank.error));
  });
}
</script>
</body>
</html>
)page";
// clang-format on

}  // namespace sonde::detail
