/** Who gives the tokens of reports. */

import { toHex } from "../bytes.ts";
import { checkDistinct } from "../domains/members.ts";
import { array, bytes, checked, record, union, whole } from "./schema.ts";

const gate = union({ account: record({}), address: record({ perDay: whole(1, 10_000) }), hook: record({}) });

/** Through which gate, and by which public key in each round, in their order. */
export const issuer = checked(record({ gate, keys: array(bytes(32), 1, 400) }), ({ keys }) => {
  checkDistinct(keys.map(toHex), "keys of the issuer");
});

/** The route of reports with tokens, straight to the server. */
export const directWithTokens = record({ issuer });
