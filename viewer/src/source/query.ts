// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a person types into the search box, as src/view/timeline/search.h describes it.

export interface Query {
  names: string[];
  kinds: string[];
  arguments: string[];
  least: number;
  most: number;
}

const SCALES: Record<string, number> = { s: 1e9, ms: 1e6, us: 1e3, µs: 1e3, ns: 1, "": 1 };

function parseTime(text: string): number {
  const found = /^([\d.]+)\s*([a-zµ]*)$/.exec(text);
  const scale = found === null ? undefined : SCALES[found[2]];
  if (found === null || scale === undefined || Number.isNaN(Number(found[1]))) throw new Error(`'${text}' is no length of time: write 20us, 1.5ms, 2s`);
  return Math.floor(Number(found[1]) * scale);
}

/** At blanks, but for those within quotes. Signs of comparison are words of their own. */
function wordsOf(text: string): string[] {
  const out: string[] = [];
  let word = "";
  let quoted = false;
  const finish = () => {
    if (word !== "") out.push(word);
    word = "";
  };
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '"') quoted = !quoted;
    else if (!quoted && /\s/.test(c)) finish();
    else if (!quoted && (c === "<" || c === ">") && (word === "" || word === "dur")) {
      finish();
      const equal = text[i + 1] === "=";
      out.push(equal ? `${c}=` : c);
      if (equal) i++;
    } else word += c;
  }
  finish();
  return out;
}

export function parseQuery(text: string): Query {
  const out: Query = { names: [], kinds: [], arguments: [], least: 0, most: Number.POSITIVE_INFINITY };
  const words = wordsOf(text);
  for (let i = 0; i < words.length; i++) {
    const word = words[i].toLowerCase();
    if (word === "dur" && /^[<>]=?$/.test(words[i + 1] ?? "")) {
      if (words[i + 2] === undefined) throw new Error("add a length of time: dur > 1ms");
      const time = parseTime(words[i + 2]);
      const sign = words[i + 1];
      if (sign[0] === ">") out.least = Math.max(out.least, sign === ">" ? time + 1 : time);
      else out.most = Math.min(out.most, sign === "<" ? time - 1 : time);
      i += 2;
    } else if (word.startsWith("kind:")) out.kinds.push(word.slice(5));
    else if (word.startsWith("arg:")) out.arguments.push(word.slice(4));
    else out.names.push(word);
  }
  return out;
}
