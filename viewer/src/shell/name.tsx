// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A name in a table: shortened, and broken where its words end.

import { shortName } from "../format.ts";

const WORD_JOINER = "\u2060";

export function Name({ name }: { name: string }) {
  const parts = shortName(name).replaceAll("…>", `…${WORD_JOINER}>`).split(/(?<=[_.:/])(?=[^_.:/])/);
  return <span class="words">{parts.map((part, i) => <>{i > 0 && <wbr />}{part}</>)}</span>;
}
