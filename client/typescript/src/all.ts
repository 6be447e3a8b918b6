/** All of the SDK in one file, without `import()`: for extensions and strict bundlers; and the readers of documents. */

import * as account from "./account.ts";
import { provideAll } from "./chunks.ts";
import * as attributes from "./chunks/attributes.ts";
import * as claims from "./chunks/claims.ts";
import * as composed from "./chunks/composed.ts";
import * as series from "./chunks/series.ts";
import * as shuffled from "./chunks/shuffled.ts";
import * as extras from "./chunks/extras.ts";
import * as tokens from "./chunks/tokens.ts";
import * as trust from "./chunks/trust.ts";
import * as strings from "./domains/strings.ts";
import * as finding from "./finding.ts";
import * as joining from "./joining.ts";
import * as preview from "./preview.ts";
import * as coarsened from "./randomizers/coarsened/coarsened.ts";
import * as directions from "./randomizers/directions/directions.ts";
import * as kernel from "./randomizers/kernel.ts";
import * as orbit from "./randomizers/orbit.ts";
import * as subsets from "./randomizers/subsets.ts";
import * as sending from "./sending.ts";

export { Account, type AccountCampaign } from "./account.ts";
export { Client } from "./client.ts";
export type { OwnerText } from "./documents/extras.ts";
export { manifestSignatures, openCampaigns } from "./documents/finding.ts";
export { logEntry } from "./documents/log_entry.ts";
export { manifest, type Manifest } from "./documents/manifest.ts";
export { reportOutcomes } from "./documents/outcomes.ts";
export { devicePart, DevicePart } from "./documents/part.ts";
export { reportBatch } from "./documents/reports.ts";
export { sealedOutcomes, sealedReports } from "./documents/sealed.ts";
export { task, type Task } from "./documents/task.ts";
export { tokenEvaluations, tokenRequest } from "./documents/tokens.ts";
export { Domain } from "./domains/domain.ts";
export * from "./errors.ts";
export type { FindOptions, Found } from "./finding.ts";
export { IndexedDbLedger } from "./ledgers/indexed_db.ts";
export type { Ledger, LedgerState } from "./ledgers/ledger.ts";
export { MemoryLedger } from "./ledgers/memory.ts";
export type { Answer, Campaign, ClientOptions } from "./options.ts";
export type { Preview } from "./preview.ts";
export { type Randomness, SystemRandomness } from "./randomizers/random.ts";
export type { AnswerStatus } from "./rules/answering.ts";
export { Caps } from "./rules/caps.ts";
export type { Period } from "./rules/series.ts";
export type { Flushed } from "./sending.ts";
export { TransportFailed } from "./transport.ts";

provideAll({
  account,
  attributes,
  claims,
  coarsened,
  composed,
  directions,
  extras,
  finding,
  joining,
  kernel,
  orbit,
  preview,
  sending,
  series,
  shuffled,
  strings,
  subsets,
  tokens,
  trust,
});
