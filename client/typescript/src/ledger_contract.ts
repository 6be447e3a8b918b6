/**
 * What every ledger promises, as tests that need no framework: run each of `ledgerContract(open)`, which throws where the
 * ledger breaks its promise. `open` opens the ledger of a name, a new one or one that was open before.
 */

import { type Ledger, type LedgerState } from "./ledgers/ledger.ts";

export interface ContractTest {
  readonly name: string;
  readonly run: () => Promise<void>;
}

const DEBIT = { round: 0, nano: "1", at: 1, periodStart: null };

/** The tests of a ledger, each with ledgers of its own. */
export function ledgerContract(open: (name: string) => Promise<Ledger>): readonly ContractTest[] {
  return [
    ["what a transaction changed is there, and nothing of one that threw", () => rollsBack(open)],
    ["of many at once each is applied once, one after the other", () => excludes(open)],
    ["two that are open at once are one ledger", () => isShared(open)],
    ["a draft that was changed after its transaction changes nothing", () => copies(open)],
    ["a change that fails leaves an earlier change of the same transaction undone", () => isWhole(open)],
  ].map(([name, run]) => ({ name, run }) as ContractTest);
}

function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(`the ledger breaks its contract: ${what}`);
}

function spend(campaign: string): (state: LedgerState) => number {
  return (state) => state.debits.push({ ...DEBIT, campaign });
}

function spent(ledger: Ledger): Promise<string> {
  return ledger.transaction((state) => state.debits.map(({ campaign }) => campaign).join());
}

async function thrown(run: () => Promise<unknown>): Promise<unknown> {
  return run().then(
    () => null,
    (error: unknown) => error,
  );
}

async function rollsBack(open: (name: string) => Promise<Ledger>): Promise<void> {
  const ledger = await open("rollback");
  await ledger.transaction(spend("a"));
  const failed = new Error("rolled back");
  const error = await thrown(() =>
    ledger.transaction((state) => {
      spend("b")(state);
      throw failed;
    }),
  );
  check(error === failed, "the error of the work is not the one that is thrown");
  check((await spent(ledger)) === "a", "what was rolled back is there");
  await ledger.close();
  const closed = (await thrown(() => ledger.transaction(() => null))) as { code?: string } | null;
  check(closed?.code === "ledger-unavailable", "a closed ledger is used");
}

async function excludes(open: (name: string) => Promise<Ledger>): Promise<void> {
  const ledger = await open("race");
  const numbers = await Promise.all(Array.from({ length: 8 }, () => ledger.transaction(spend("a"))));
  const sorted = numbers.sort((first, second) => first - second).join();
  check(sorted === "1,2,3,4,5,6,7,8", "two transactions ran at once");
}

async function isShared(open: (name: string) => Promise<Ledger>): Promise<void> {
  const [first, second] = [await open("shared"), await open("shared")];
  // A ledger of memory ends with its object, and is never shared.
  if (first.persistence === "memory") return;
  const claim = (state: LedgerState) => (state.debits.length ? false : Boolean(spend("a")(state)));
  const won = await Promise.all([first, second, first, second].map((ledger) => ledger.transaction(claim)));
  check(won.filter(Boolean).length === 1, "two that look at once both find nothing");
  check((await spent(second)) === "a", "what one wrote the other does not see");
}

async function copies(open: (name: string) => Promise<Ledger>): Promise<void> {
  const ledger = await open("draft");
  const draft = await ledger.transaction((state) => state);
  draft.latest = 17;
  check((await ledger.transaction((state) => state.latest)) === 0, "a draft is the ledger itself");
}

async function isWhole(open: (name: string) => Promise<Ledger>): Promise<void> {
  const ledger = await open("whole");
  const work = (state: LedgerState) => {
    state.latest = 9;
    spend("a")(state);
    (null as unknown as Ledger).close();
  };
  check((await thrown(() => ledger.transaction(work))) instanceof TypeError, "a mistake of the work is hidden");
  check((await ledger.transaction((state) => state.latest)) === 0, "half of a transaction is there");
}
