// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reads an export to Parquet with DuckDB and compares every value of every table with what
// `sonde sql` says. Exits with 77 if DuckDB is not there: npm install --prefix FOLDER @duckdb/node-api,
// then set SONDE_DUCKDB=FOLDER.
//
//   node parquet.mjs BUILD/bin/sonde TRACE

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [sonde, trace] = process.argv.slice(2);
let duckdb;
try {
  const require = createRequire(join(process.env.SONDE_DUCKDB ?? '.', 'package.json'));
  duckdb = require('@duckdb/node-api');
} catch {
  console.log('DuckDB is not installed; set SONDE_DUCKDB');
  process.exit(77);
}

const folder = mkdtempSync(join(tmpdir(), 'sonde-parquet-'));
const run = (...words) => execFileSync(sonde, words, { encoding: 'utf8', maxBuffer: 1 << 30 });
// Integers as texts, because they may need 64 bits; numbers as numbers.
const cast = (name, type) => (type === 'DOUBLE' ? `"${name}"` : `CAST("${name}" AS TEXT)`) + ` AS "${name}"`;

let compared = 0;
try {
  run('export', trace, '-o', join(folder, 't.parquet'));
  const connection = await (await duckdb.DuckDBInstance.create()).connect();
  for (const file of readdirSync(join(folder, 't.parquet'))) {
    const table = file.replace('.parquet', '');
    const from = `read_parquet('${join(folder, 't.parquet', file)}')`;
    const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${from}`);
    const columns = described.getRowObjects().map((row) => [row.column_name, row.column_type]);
    const select = columns.map(([name, type]) => cast(name, type)).join(', ');
    const read = (await connection.runAndReadAll(`SELECT ${select} FROM ${from} ORDER BY CAST(id AS BIGINT)`)).getRowObjects();
    const told = JSON.parse(run('sql', '--format', 'json', trace, `SELECT ${select} FROM ${table} ORDER BY ${table}.id`));
    if (read.length !== told.length) throw new Error(`${table}: ${read.length} rows, not ${told.length}`);
    for (let i = 0; i < read.length; ++i) {
      for (const [name] of columns) {
        ++compared;
        if (read[i][name] !== told[i][name]) {
          throw new Error(`${table}.${name}, row ${i}: ${read[i][name]}, not ${told[i][name]}`);
        }
      }
    }
  }
  if (compared === 0) throw new Error('nothing was compared');
  console.log(`${compared} values are equal`);
} finally {
  rmSync(folder, { recursive: true });
}
