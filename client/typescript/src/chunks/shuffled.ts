/** Campaigns whose reports go through a shuffler. */

export { sealedOutcomes } from "../documents/sealed.ts";
export { checkShuffled, shuffled } from "../documents/shuffled.ts";
export { checkCanSeal, mixedGuarantee, sealedBytes, sealing } from "../shuffled/reports.ts";
export { checkSigned } from "../shuffled/tasks.ts";
