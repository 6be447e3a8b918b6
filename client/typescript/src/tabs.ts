/** Between the tabs of a page that share a ledger: whose owner leaves in one has left in all. */

import type { Ledger } from "./ledgers/ledger.ts";

/** The channel of a ledger's tabs; null where the ledger has no name, or the platform no channels. */
export function tabsOf(ledger: Ledger): BroadcastChannel | null {
  return "name" in ledger && "BroadcastChannel" in globalThis ? new BroadcastChannel(`sordino:${ledger.name}`) : null;
}

/** Tells all tabs that a campaign was left, or that all were. */
export function tellTabs(ledger: Ledger, campaign: string | null): void {
  const tabs = tabsOf(ledger);
  tabs?.postMessage(campaign);
  tabs?.close();
}
