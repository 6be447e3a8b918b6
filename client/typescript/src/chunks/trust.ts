/** What an app pins: keys that sign manifests, and a public log. */

export { PublicLog } from "../log/public_log.ts";
export { checkKeys, checkSigned, fetchSignatures } from "../signatures.ts";
