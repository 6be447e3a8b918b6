/** A shuffled campaign: sealed reports, and what its owner is told of who learns what. */

import { decimal, fromHex, joined, toBigEndian } from "../bytes.ts";
import type { Manifest } from "../documents/manifest.ts";
import { sealedReports } from "../documents/sealed.ts";
import type { Shuffled } from "../documents/shuffled.ts";
import { PlanRefused, SordinoError } from "../errors.ts";
import { composedClaim, type PrivacyClaim } from "./composition.ts";
import { makePair, sealer } from "./sealing.ts";

const CONTEXT = new TextEncoder().encode("sordino sealed report v1\0");

/** What a report is sealed for. */
export interface Sealed {
  readonly campaign: string;
  readonly round: number;
  readonly manifest: Manifest;
  readonly digest: Uint8Array;
  readonly arm: number | null;
  readonly payloadBytes: number;
}

/**
 * (ε, δ) of one answer against the collector alone, as long as `shuffler` mixes in `blanket` random answers, for each of
 * the `arms` of an experiment, and does not work with it. Both together learn at most `together` nano-ε: that is proved.
 */
export interface MixedGuarantee {
  readonly shuffler: string;
  readonly blanket: number;
  readonly arms: number;
  readonly nanoEpsilon: bigint;
  readonly attoDelta: bigint;
  readonly together: bigint;
  /** (ε, δ) of so many answers of one device, at the sum of their δ: by the Rényi curve where that proves less ε. */
  ofAnswers(count: number): string;
  toString(): string;
}

/** What makes the bytes that are sent of a payload; all that takes time is done before. */
export async function sealing({ campaign, round, manifest, digest, arm, payloadBytes }: Sealed) {
  const { keys } = manifest.route as Shuffled;
  const { key } = keys.findLast(({ fromRound }) => fromRound <= round)!;
  const info = joined(CONTEXT, fromHex(campaign), toBigEndian(BigInt(round), 8), digest);
  const head = manifest.arms.length ? Uint8Array.of(arm!) : new Uint8Array();
  const seal = await sealer(key.slice(), info, head.length + payloadBytes, await makePair());
  return (payload: Uint8Array) => sealedReports.write({ sealed: seal(joined(head, payload)), count: 1 });
}

/** Bytes of the upload of one report. */
export function sealedBytes(payloadBytes: number, arms: number): number {
  return sealedReports.write({ sealed: new Uint8Array(48 + Number(arms > 0) + payloadBytes), count: 1 }).length;
}

/** Throws PlanRefused where this platform cannot seal. */
export async function checkCanSeal(): Promise<void> {
  try {
    await makePair();
  } catch (error) {
    throw error instanceof SordinoError ? new PlanRefused("manifest", error.message) : error;
  }
}

/** What the owner is told; null for a campaign without a shuffler. */
export function mixedGuarantee({ route, arms, rounds }: Manifest): MixedGuarantee | null {
  if (route.kind !== "shuffled") return null;
  const { blanket, claims } = route;
  const headline = claims[route.headline]!;
  const shuffler = new URL(route.shuffler.urls[0]!).host;
  const together = rounds[0]!.guarantee.nano;
  const answers = `${blanket} random answer${blanket === 1 ? "" : "s"}${arms.length ? " of each version" : ""}`;
  const told =
    `${point(headline)} against the collector as long as ` +
    `${shuffler} mixes in ${answers} and does not work with it, which nobody else can check; ε ${decimal(together)} otherwise`;
  const ofAnswers = (count: number) => point(composedClaim(claims, headline, count));
  return { shuffler, blanket, arms: arms.length, ...headline, together, ofAnswers, toString: () => told };
}

function point({ nanoEpsilon, attoDelta }: PrivacyClaim): string {
  return `(ε ${decimal(nanoEpsilon)}, δ ${Number((Number(attoDelta) / 1e18).toPrecision(3))})`;
}
