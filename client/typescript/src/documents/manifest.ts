/** The manifest: the permanent terms of a campaign; its digest is the campaign's id. */

import { code, later } from "../chunks.ts";
import { domain } from "../domains/domain.ts";
import { InvalidValue } from "../errors.ts";
import { guarantee, roundGuarantee } from "../randomizers/epsilon.ts";
import { digest, DocumentType, MAX_ITEMS } from "./document.ts";
import { route } from "./route.ts";
import { array, checked, MAX_TIME, nullable, type Of, record, text, union, unlessEmpty, whole } from "./schema.ts";
import { checkName, purpose } from "./text.ts";

const MAX_ROUNDS = 16;
const name = text((each) => checkName(each, "name"));

const roundTerms = record({
  guarantee: roundGuarantee,
  plan: nullable(record({ device: digest, analyst: digest })),
});

const oneRound = checked(record({ weights: array(whole(1, 2 ** 32 - 1), 2, MAX_ROUNDS) }), ({ weights }) => {
  if (weights.reduce((sum, each) => sum + each) !== 2 ** 32) throw new InvalidValue("the weights of the rounds sum to 2^32");
});

const fields = record({
  name,
  purpose,
  population: text((each) => checkName(each, "population")),
  createdAt: whole(0, MAX_TIME),
  domain,
  deviceGuarantee: guarantee,
  rounds: array(roundTerms, 1, MAX_ROUNDS),
  assignment: union({
    every_round: record({}),
    one_round: oneRound,
    rotating: later("series", ({ rotating }) => rotating),
  }),
  protocol: nullable(digest),
  servers: unlessEmpty(later("extras", ({ servers }) => servers)),
  route,
  arms: unlessEmpty(later("extras", ({ arms }) => arms)),
  texts: unlessEmpty(later("extras", ({ texts }) => texts)),
});
export type Manifest = Of<typeof fields>;

/** Throws InvalidValue where fields do not fit together. */
function check(manifest: Manifest): void {
  const { rounds, assignment } = manifest;
  if (rounds[0]!.plan === null) throw new InvalidValue("the plan of the first round must be known");
  checkSpending(manifest);
  if (manifest.servers.length && assignment.kind === "rotating") throw new InvalidValue("a series has one server");
  if (manifest.arms.length) code("extras").checkArms(manifest);
  checkRoute(manifest);
}

function checkSpending({ rounds, assignment, deviceGuarantee }: Manifest): void {
  const spent = rounds.map((round) => round.guarantee.nano);
  let needed = spent.reduce((sum, nano) => sum + nano, 0n);
  if (assignment.kind === "one_round") {
    if (assignment.weights.length !== spent.length) throw new InvalidValue("each round has a weight");
    needed = spent.reduce((most, nano) => (nano > most ? nano : most));
  }
  if (assignment.kind === "rotating") {
    if (spent.length !== 1) throw new InvalidValue("a series has the terms of one round");
    needed = spent[0]! * BigInt(assignment.answersMax);
  }
  if (needed > deviceGuarantee.nano) throw new InvalidValue("the rounds may spend more than the stated ε");
}

function checkRoute(manifest: Manifest): void {
  const { route: way } = manifest;
  if (way.kind === "direct_with_tokens") code("tokens").checkTokens(manifest, way.issuer);
  if (way.kind === "shuffled") code("shuffled").checkShuffled(manifest, way);
}

export const manifest = new DocumentType("manifest", { bytes: 8 << 20, items: MAX_ITEMS }, checked(fields, check));
