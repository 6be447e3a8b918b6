/** What an app of the SDK imports. */

export { Account, type AccountCampaign } from "./account.ts";
export { Client } from "./client.ts";
export { devicePart, DevicePart } from "./documents/part.ts";
export { manifest, type Manifest } from "./documents/manifest.ts";
export { task, type Task } from "./documents/task.ts";
export { reportBatch, reportOutcomes, sealedOutcomes, sealedReports } from "./documents/reports.ts";
export { manifestSignatures, openCampaigns } from "./documents/finding.ts";
export { Domain } from "./domains/domain.ts";
export * from "./errors.ts";
export { type Randomness, SystemRandomness } from "./randomizers/random.ts";
export { IndexedDbLedger } from "./ledgers/indexed_db.ts";
export type { Ledger, LedgerState } from "./ledgers/ledger.ts";
export { MemoryLedger } from "./ledgers/memory.ts";
export type { Answer, Campaign, ClientOptions } from "./options.ts";
export type { AnswerStatus } from "./rules/answering.ts";
export { Caps } from "./rules/caps.ts";
export type { Flushed } from "./sending.ts";
export { TransportFailed } from "./transport.ts";
