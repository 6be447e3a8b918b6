/** Campaigns that count one report for each token. */

export { checkTokens, directWithTokens } from "../documents/issuer.ts";
export { coinOf } from "../tokens/coin.ts";
export { tokenAhead, tokenOf } from "../tokens/tokens.ts";
