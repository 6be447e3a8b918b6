/** What an app of the SDK imports. */

export { devicePart, DevicePart } from "./documents/part.ts";
export { manifest, type Manifest } from "./documents/manifest.ts";
export { task, type Task } from "./documents/task.ts";
export { reportBatch, reportOutcomes, sealedOutcomes, sealedReports } from "./documents/reports.ts";
export { manifestSignatures, openCampaigns } from "./documents/finding.ts";
export { Domain } from "./domains/domain.ts";
export * from "./errors.ts";
export { type Randomness, SystemRandomness } from "./randomizers/random.ts";
