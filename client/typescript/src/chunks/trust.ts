/** What an app pins: keys that sign manifests, and a public log. */

export { checkSigned, fetchSignatures } from "../signatures.ts";
export { readPinned } from "../trusting.ts";
