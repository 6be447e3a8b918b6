/** Campaigns that count one report for each token. */

export { directWithTokens } from "../documents/issuer.ts";
