// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Builds viewer/dist/: the script, the style and the page. The same sources give the same bytes.
//
//   node build.mjs           dist/
//   node build.mjs --tests   build/tests.mjs, for `node --test`

import { build } from "esbuild";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

const shared = { bundle: true, logLevel: "warning", target: "es2022", charset: "ascii", jsx: "automatic", jsxImportSource: "preact" };

// The licences of what is in the bundle, which it must carry.
async function licences() {
  let text = "";
  for (const name of ["preact", "@preact/signals", "@preact/signals-core"]) {
    const folder = join("node_modules", name);
    const version = JSON.parse(await readFile(join(folder, "package.json"), "utf8")).version;
    text += `${name} ${version}\n\n${(await readFile(join(folder, "LICENSE"), "utf8")).trim()}\n\n`;
  }
  return text.trimEnd();
}

async function files(folder, suffix) {
  const entries = await readdir(folder, { recursive: true });
  return entries.filter((name) => name.endsWith(suffix)).sort().map((name) => join(folder, name));
}

if (process.argv.includes("--tests")) {
  const tests = await files("src", ".test.ts");
  const stdin = { contents: tests.map((path) => `import "./${path}";`).join("\n"), resolveDir: "." };
  await build({ ...shared, stdin, outfile: "build/tests.mjs", format: "esm", platform: "node" });
} else {
  await mkdir("dist", { recursive: true });
  const banner = `/* Sonde's viewer. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\nContains:\n\n${await licences()}\n*/`;
  await build({ ...shared, entryPoints: ["src/main.tsx"], outfile: "dist/viewer.js", format: "iife", minify: true, legalComments: "none", banner: { js: banner } });
  await build({ ...shared, entryPoints: ["src/style.css"], outfile: "dist/viewer.css", minify: true });
  const script = await readFile("dist/viewer.js", "utf8");
  if (/<\/script/i.test(script) || /\{\{[A-Z]+\}\}/.test(script)) throw new Error("the script would break the page it is put into");
  await writeFile("dist/page.html", await readFile("src/page.html", "utf8"));
}
