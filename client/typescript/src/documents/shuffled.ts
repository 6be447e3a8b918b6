/** The route of reports through a shuffler. */

import { checkDistinct } from "../domains/members.ts";
import { InvalidValue } from "../errors.ts";
import { littleEndian, toHex } from "../bytes.ts";
import { shuffler } from "./addresses.ts";
import { checkTokens, issuer } from "./issuer.ts";
import type { Manifest } from "./manifest.ts";
import { array, bytes, checked, MAX_TIME, nullable, type Of, record, whole, word } from "./schema.ts";

const FIELD = (1n << 255n) - 19n;
/** Curve25519 and its twist: u of every point whose order divides 8 (RFC 7748, section 6.1). */
const SMALL_ORDER = [
  0n,
  1n,
  FIELD - 1n,
  325606250916557431795983626356110631294008115727848805560023387167927233504n,
  39382357235489614581723060781553021112529911719440698176882885853963445705823n,
];

const collectorKey = checked(record({ fromRound: whole(0, Number.MAX_SAFE_INTEGER), key: bytes(32) }), ({ key }) => {
  if (SMALL_ORDER.includes((littleEndian(key) & ((1n << 255n) - 1n)) % FIELD)) {
    throw new InvalidValue("a key of the collector is of small order: everybody could open what it seals");
  }
});

const claim = record({ nanoEpsilon: word(0n, 10n ** 12n), attoDelta: word(10n ** 6n, 10n ** 18n) });

export const shuffled = checked(
  record({
    shuffler,
    suite: whole(1, 1),
    keys: array(collectorKey, 1, 400),
    floor: whole(1, 10 ** 7),
    blanket: whole(1, 10 ** 6),
    end: nullable(whole(0, MAX_TIME)),
    taskKey: bytes(32),
    claims: array(claim, 1, 16),
    headline: whole(0, 15),
    issuer: nullable(issuer),
  }),
  ({ keys, claims, headline }) => {
    if (keys[0]!.fromRound !== 0) throw new InvalidValue("the first key of the collector is for round 0 and later");
    if (keys.some(({ fromRound }, at) => at && keys[at - 1]!.fromRound >= fromRound)) {
      throw new InvalidValue("keys are in the order of their first rounds");
    }
    checkDistinct(keys.map(({ key }) => toHex(key)), "keys of the collector");
    const falls = claims.every(({ nanoEpsilon, attoDelta }, at) => {
      const before = claims[at - 1];
      return !before || (before.nanoEpsilon < nanoEpsilon && before.attoDelta > attoDelta);
    });
    if (!falls) throw new InvalidValue("ε of the claims rises, and δ falls");
    if (headline >= claims.length) throw new InvalidValue("there is no such claim");
  },
);
export type Shuffled = Of<typeof shuffled>;

/** Throws InvalidValue for a manifest whose terms do not go with a shuffler. */
export function checkShuffled(manifest: Manifest, { issuer: tokens, end }: Shuffled): void {
  const { assignment, rounds, servers, protocol } = manifest;
  const isSeries = assignment.kind === "rotating";
  if (tokens) checkTokens(manifest, tokens);
  if (!isSeries && (rounds.length > 1 || assignment.kind !== "every_round")) {
    throw new InvalidValue("a shuffled campaign has one round that every device answers, or is a series");
  }
  if (servers.length || protocol !== null) {
    throw new InvalidValue("a shuffled campaign has no `servers` and no `protocol`");
  }
  if ((end === null) !== isSeries) throw new InvalidValue("`end` of the route is null for a series alone");
}
