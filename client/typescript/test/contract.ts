/** The contract of ledgers as tests of node. */

import { test } from "node:test";

import type { Ledger } from "../src/ledgers/ledger.ts";
import { ledgerContract } from "../src/ledger_contract.ts";

export function testLedger(kind: string, open: (name: string) => Promise<Ledger>): void {
  for (const { name, run } of ledgerContract(open)) test(`${kind}: ${name}`, run);
}
