// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the pages share: their data, quantities as text, and the change from light to dark.
const $ = (id) => document.getElementById(id);
const meta = JSON.parse($("meta").textContent);

function bytesText(v) {
  const sign = v < 0 ? "−" : "", units = ["B", "KiB", "MiB", "GiB", "TiB"];
  v = Math.abs(v);
  let u = 0;
  while (v >= 1024 && u < units.length - 1) { v /= 1024; u++; }
  return sign + (u === 0 ? v.toFixed(0) : v.toFixed(v >= 100 ? 0 : v >= 10 ? 1 : 2)) + " " + units[u];
}
function timeText(ns, digits = 3) {
  const a = Math.abs(ns);
  if (a >= 1e9) return (ns / 1e9).toFixed(digits) + " s";
  if (a >= 1e6) return (ns / 1e6).toFixed(digits) + " ms";
  if (a >= 1e3) return (ns / 1e3).toFixed(digits) + " µs";
  return ns.toFixed(0) + " ns";
}
const escaped = (text) => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

function turnTheme() {
  const root = document.documentElement, asked = root.dataset.theme;
  const dark = asked ? asked === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}
