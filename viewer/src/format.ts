// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Quantities and names as people read them.

/** 1,234,567 */
export function countText(n: number): string {
  return Math.round(n).toLocaleString("en");
}

/** 1 span, 2 spans */
export function countedText(n: number, one: string, many = `${one}s`): string {
  return `${countText(n)} ${n === 1 ? one : many}`;
}

const UNITS: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** 812 ns, 1.234 µs, 56.70 ms: four significant digits. */
export function timeText(ns: number): string {
  const size = Math.abs(ns);
  if (size < 1) return "0 ns";
  const [scale, unit] = UNITS.find(([least]) => size >= least) ?? [1, "ns"];
  const value = ns / scale;
  if (scale === 1) return `${Math.round(value)} ns`;
  const digits = Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value))));
  return `${grouped(value, Math.min(3, digits))} ${unit}`;
}

/** A moment, exact enough to tell moments a pixel apart. */
export function momentText(ns: number, stepNs: number): string {
  const [scale, unit] = UNITS.find(([least]) => Math.max(Math.abs(ns), stepNs) >= least) ?? [1, "ns"];
  const digits = Math.max(0, Math.min(9, Math.ceil(Math.log10(scale / Math.max(stepNs, 1)))));
  return `${grouped(ns / scale, digits)} ${unit}`;
}

/** Seconds may be thousands: 14,400 s. */
function grouped(value: number, digits: number): string {
  const text = value.toFixed(digits);
  return Math.abs(value) < 1000 ? text : text.replace(/^(-?)(\d+)/, (_, sign: string, whole: string) => sign + countText(Number(whole)));
}

/** 512 B, 1.5 KiB, 256 MiB */
export function bytesText(bytes: number): string {
  const sign = bytes < 0 ? "-" : "";
  let value = Math.abs(bytes);
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  const text = value >= 100 || unit === 0 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
  return `${sign}${text} ${units[unit]}`;
}

export function percentText(part: number, whole: number): string {
  if (whole <= 0) return "";
  const percent = (100 * part) / whole;
  return percent > 0 && percent < 0.05 ? "< 0.1 %" : `${percent.toFixed(1)} %`;
}

/** A sentence of the library, which writes units for terminals. */
export function sentenceText(text: string): string {
  return text.replace(/(\d) us\b/g, "$1 µs");
}

/** 1.2 T, 34.5 G: large plain numbers. */
export function largeText(n: number): string {
  for (const [scale, unit] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]] as [number, string][])
    if (n >= scale) return `${(n / scale).toFixed(1)} ${unit}`;
  return countText(n);
}

/** From the first angle bracket to the one that closes it, or to the end of a name that was cut off. */
function argumentsOf(name: string): string {
  const begin = name.indexOf("<");
  let depth = 0;
  for (let i = begin; i < name.length; i++) {
    if (name[i] === "<") depth++;
    else if (name[i] === ">" && name[i - 1] !== "-" && --depth === 0) return name.slice(begin, i);
  }
  return begin < 0 ? "" : name.slice(begin);
}

/** Removes what stands between matching angle brackets, and keeps that it did. */
function withoutTemplates(name: string): string {
  let out = "";
  let depth = 0;
  for (let i = 0; i < name.length; i++) {
    const c = name[i];
    const isOperator = out.endsWith("operator") || name[i - 1] === "-";
    if (c === "<" && !isOperator) {
      if (depth === 0) out += "<…>";
      depth++;
    } else if (c === ">" && depth > 0) {
      depth--;
    } else if (depth === 0) {
      out += c;
    }
  }
  return out;
}

// What stands in the arguments of many templates and says nothing about this one: types, namespaces, wrappers.
const DULL = new Set(
  ("float double int long short char bool void unsigned signed const true false auto std at native c10 cuda detail thrust cub anonymous namespace array Array operator lambda " +
    "Half BFloat16 complex Scalar size_t binary_internal gpu_kernel_impl gpu_kernel_impl_nocast ReduceOp func_wrapper_t BinaryFunctor AUnaryFunctor BUnaryFunctor").split(" "),
);
const DULL_ENDS = /(Metadata|Iterator|IteratorBase|_t|^(Unary|Binary|Ternary|Pointwise)Op\w*Functor)$/;

/** The first template argument that tells instances apart: FillFunctor, direct_copy_kernel_cuda, multiplies. */
function tellingArgument(name: string): string {
  const begin = name.indexOf("<");
  for (const [word] of name.slice(begin).matchAll(/(?<!\w)[A-Za-z_]\w*/g)) if (!DULL.has(word) && !DULL_ENDS.test(word)) return word;
  return "";
}

export const NO_NAME = "(no name)";

/**
 * The part of a long C++ name that tells kernels apart:
 * `void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, …>(int, …)` is
 * `vectorized_elementwise_kernel<FillFunctor…>`.
 */
export function shortName(name: string): string {
  if (name.trim() === "") return NO_NAME;
  const known = shortNames.get(name);
  if (known !== undefined) return known;
  if (shortNames.size > 20_000) shortNames.clear();
  const text = shortened(name);
  shortNames.set(name, text);
  return text;
}
const shortNames = new Map<string, string>();

/** What to show where there is little room: the function of `torch/nn/modules/module.py(1783): _call_impl`. */
export function narrowName(name: string): string {
  const found = /^.*\.py\(\d+\): (.+)$/.exec(name) ?? /^nn\.Module: (.+)$/.exec(name) ?? /^<built-in (?:method|function) ([\w.]+).*>$/.exec(name) ?? /^autograd::engine::evaluate_function: (.+)$/.exec(name) ?? /^aten::(.+)$/.exec(name);
  return found === null ? shortName(name) : found[1];
}

function shortened(name: string): string {
  // Objects of Python: where one lay tells nothing.
  if (/ at 0x[0-9a-f]+>$/.test(name)) return name.replace(/ at 0x[0-9a-f]+>$/, ">");
  if (name.length < 24 || !(name.includes("<") || name.includes("(")) || name.includes(".py") || name.startsWith("<")) return name;
  let text = withoutTemplates(name.replaceAll("(anonymous namespace)::", ""));
  // Types of arguments, not a remark as in "thread 7 (pt_autograd_0)" or values as in "forward(batch=7)".
  const call = text.search(/(?<=[\w>~=\])])\(/);
  if (call > 0 && !text.startsWith("(") && !text.slice(call).includes("=")) text = text.slice(0, call);
  text = text.replace(/^(void|int|float|double|auto|static|__global__)\s+/, "").trim();
  const at = text.lastIndexOf("::");
  if (at >= 0 && /^[\w:<>…~]+$/.test(text)) text = text.slice(at + 2);
  if (text === "") return name;
  if (!text.endsWith("<…>")) return text;
  const telling = tellingArgument(argumentsOf(name));
  if (telling === "") return text;
  return /^Kernel2?<…>$/.test(text) ? telling : `${text.slice(0, -2)}${telling}…>`;
}

/** Rows of cells as text: with tabs, or as CSV with commas. A name that a spreadsheet would take for a formula stays a text. */
export function separated(rows: (number | string)[][], separator: "," | "\t"): string {
  const cell = (value: number | string): string => {
    const text = String(value);
    if (separator === "\t") return text;
    const safe = typeof value === "string" && /^[=+@\t\r-]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return rows.map((cells) => cells.map(cell).join(separator)).join("\n");
}
