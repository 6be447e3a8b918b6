/** Device parts that are kept for answers without a connection: the newest. None is needed for correctness. */

import { toHex } from "../bytes.ts";
import type { LedgerState } from "../ledgers/ledger.ts";

const MOST_PARTS = 8;
const MOST_DIGITS = 2 * (4 << 20);

/** Keeps a part, and of those before it as many as there is room for. */
export function keepPart(state: LedgerState, digest: Uint8Array, content: Uint8Array): void {
  const name = toHex(digest);
  delete state.parts[name];
  state.parts[name] = toHex(content);
  // The newest is the last; it stays, however large it is.
  let room = MOST_DIGITS;
  Object.entries(state.parts)
    .reverse()
    .forEach(([each, { length }], at) => ((room -= length) < 0 && at || at >= MOST_PARTS) && delete state.parts[each]);
}
