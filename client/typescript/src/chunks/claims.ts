/** The proof of what a shuffled campaign claims against its collector. */

export { checkHeadline } from "../shuffled/claims.ts";
