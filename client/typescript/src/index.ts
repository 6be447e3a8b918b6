/** What an app imports. The rest of the code comes in chunks, when a campaign needs it. */

import { provide } from "./chunks.ts";

export type { Account, AccountCampaign } from "./account.ts";
export { Client } from "./client.ts";
export type { OwnerText } from "./documents/extras.ts";
export type { Manifest } from "./documents/manifest.ts";
export * from "./errors.ts";
export type { FindOptions, Found } from "./finding.ts";
export { IndexedDbLedger } from "./ledgers/indexed_db.ts";
export type { Ledger, LedgerState } from "./ledgers/ledger.ts";
export { MemoryLedger } from "./ledgers/memory.ts";
export type { Answer, AppCall, Campaign, ClientOptions } from "./options.ts";
export type { Preview } from "./preview.ts";
export { type Randomness, SystemRandomness } from "./randomizers/random.ts";
export type { AnswerStatus } from "./rules/answering.ts";
export { Caps } from "./rules/caps.ts";
export type { Period } from "./rules/series.ts";
export type { Flushed } from "./sending.ts";
export type { MixedGuarantee } from "./shuffled/reports.ts";
export { TransportFailed } from "./transport.ts";

provide({
  account: () => import("./account.ts"),
  attributes: () => import("./chunks/attributes.ts"),
  claims: () => import("./chunks/claims.ts"),
  coarsened: () => import("./randomizers/coarsened/coarsened.ts"),
  composed: () => import("./chunks/composed.ts"),
  directions: () => import("./randomizers/directions/directions.ts"),
  extras: () => import("./chunks/extras.ts"),
  finding: () => import("./finding.ts"),
  joining: () => import("./joining.ts"),
  kernel: () => import("./randomizers/kernel.ts"),
  orbit: () => import("./randomizers/orbit.ts"),
  preview: () => import("./preview.ts"),
  sending: () => import("./sending.ts"),
  series: () => import("./chunks/series.ts"),
  shuffled: () => import("./chunks/shuffled.ts"),
  strings: () => import("./domains/strings.ts"),
  subsets: () => import("./randomizers/subsets.ts"),
  tokens: () => import("./chunks/tokens.ts"),
  trust: () => import("./chunks/trust.ts"),
});
