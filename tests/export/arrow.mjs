// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reads an export to Arrow with Arrow's own library and compares every value of every table with what
// `sonde sql` says. Exits with 77 if the library is not there: npm install --prefix FOLDER apache-arrow,
// then set SONDE_ARROW=FOLDER.
//
//   node arrow.mjs BUILD/bin/sonde TRACE

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [sonde, trace] = process.argv.slice(2);
let arrow;
try {
  arrow = createRequire(join(process.env.SONDE_ARROW ?? '.', 'package.json'))('apache-arrow');
} catch {
  console.log('apache-arrow is not installed; set SONDE_ARROW');
  process.exit(77);
}

const folder = mkdtempSync(join(tmpdir(), 'sonde-arrow-'));
const run = (...words) => execFileSync(sonde, words, { encoding: 'utf8', maxBuffer: 1 << 30 });
// Integers as texts, because they may need 64 bits.
const plain = (value) => (typeof value === 'bigint' ? value.toString() : value);

let compared = 0;
try {
  run('export', trace, '-o', join(folder, 't.arrow'));
  for (const file of readdirSync(join(folder, 't.arrow'))) {
    const name = file.replace('.arrow', '');
    const table = arrow.tableFromIPC(readFileSync(join(folder, 't.arrow', file)));
    const columns = table.schema.fields.map((field) => [field.name, `${field.type}`]);
    const select = columns
      .map(([column, type]) => (type === 'Int64' ? `CAST("${column}" AS TEXT)` : `"${column}"`) + ` AS "${column}"`)
      .join(', ');
    const told = JSON.parse(run('sql', '--format', 'json', trace, `SELECT ${select} FROM ${name} ORDER BY ${name}.id`));
    if (table.numRows !== told.length) throw new Error(`${name}: ${table.numRows} rows, not ${told.length}`);
    for (const [column] of columns) {
      const values = table.getChild(column);
      for (let i = 0; i < told.length; ++i) {
        ++compared;
        if (plain(values.get(i)) !== told[i][column]) {
          throw new Error(`${name}.${column}, row ${i}: ${values.get(i)}, not ${told[i][column]}`);
        }
      }
    }
  }
  if (compared === 0) throw new Error('nothing was compared');
  console.log(`${compared} values are equal`);
} finally {
  rmSync(folder, { recursive: true });
}
