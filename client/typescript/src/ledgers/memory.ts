/** A ledger for tests and simulations: it ends with its object. */

import { LedgerUnavailable } from "../errors.ts";
import { emptyState, type Ledger, type LedgerState } from "./ledger.ts";

export class MemoryLedger implements Ledger {
  readonly persistence = "memory";
  private text: string | null = JSON.stringify(emptyState());

  async transaction<T>(work: (state: LedgerState) => T): Promise<T> {
    if (this.text === null) throw new LedgerUnavailable("it was closed");
    const draft = JSON.parse(this.text) as LedgerState;
    const result = work(draft);
    this.text = JSON.stringify(draft);
    return result;
  }

  async close(): Promise<void> {
    this.text = null;
  }
}
