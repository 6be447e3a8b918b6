/** Who gives the tokens of reports. */

import { toHex } from "../bytes.ts";
import { checkDistinct } from "../domains/members.ts";
import { InvalidValue } from "../errors.ts";
import type { Manifest } from "./manifest.ts";
import { array, bytes, checked, type Of, record, union, whole } from "./schema.ts";

const gate = union({ account: record({}), address: record({ perDay: whole(1, 10_000) }), hook: record({}) });

/** Through which gate, and by which public key in each round, in their order. */
export const issuer = checked(record({ gate, keys: array(bytes(32), 1, 400) }), ({ keys }) => {
  checkDistinct(keys.map(toHex), "keys of the issuer");
});

/** Throws InvalidValue for a manifest whose terms do not go with its tokens. */
export function checkTokens({ rounds, assignment, servers }: Manifest, { keys }: Of<typeof issuer>): void {
  if (assignment.kind === "rotating" || servers.length) {
    throw new InvalidValue("a campaign with tokens has one server and is no series");
  }
  if (keys.length !== rounds.length) throw new InvalidValue("the issuer has one key for each round");
}

/** The route of reports with tokens, straight to the server. */
export const directWithTokens = record({ issuer });
