/** What every ledger promises, as tests: give a function that opens it, twice for the same ledger. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Ledger } from "../src/ledgers/ledger.ts";

const DEBIT = { round: 0, nano: "1", at: 1, periodStart: null };

/** Tests of a ledger; `open` opens the ledger of a name, a new one or one that was open before. */
export function testLedger(kind: string, open: (name: string) => Promise<Ledger>): void {
  test(`${kind}: what a transaction changed is there, and nothing of one that threw`, async () => {
    const ledger = await open("rollback");
    await ledger.transaction((state) => state.debits.push({ ...DEBIT, campaign: "a" }));
    const failing = ledger.transaction((state) => {
      state.debits.push({ ...DEBIT, campaign: "b" });
      throw new Error("rolled back");
    });
    await assert.rejects(failing, /rolled back/);
    assert.deepEqual(await ledger.transaction((state) => state.debits.map(({ campaign }) => campaign)), ["a"]);
    await ledger.close();
    await assert.rejects(ledger.transaction(() => null), { code: "ledger-unavailable" });
  });

  test(`${kind}: of many at once each is applied once, one after the other`, async () => {
    const ledger = await open("race");
    const numbers = await Promise.all(
      Array.from({ length: 8 }, () => ledger.transaction((state) => state.debits.push({ ...DEBIT, campaign: "a" }))),
    );
    assert.deepEqual(numbers.sort((first, second) => first - second), Array.from({ length: 8 }, (_, at) => at + 1));
  });

  test(`${kind}: a draft that was changed after its transaction changes nothing`, async () => {
    const ledger = await open("draft");
    const draft = await ledger.transaction((state) => state);
    draft.latest = 17;
    assert.equal(await ledger.transaction((state) => state.latest), 0);
  });
}
