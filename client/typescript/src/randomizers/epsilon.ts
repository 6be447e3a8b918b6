/** ε proved in integers: nano-ε are whole, and a logarithm in doubles may only guess. */

import { bitLength } from "../bytes.ts";
import { record, type Schema, union, word } from "../documents/schema.ts";

export const NANO = 10n ** 9n;
export const MAX_NANO = 1000n * NANO;
const FRACTION_BITS = 192n;

/** max K(y|x)/K(y|x′) as integers (numerator, denominator); null where some output is impossible for one value alone. */
export type Ratio = readonly [bigint, bigint] | null;

/** The only guarantee of version 1: pure ε, in nano-ε. */
export const guarantee = union({ pure_epsilon: record({ nano: word(0n, MAX_NANO) }) });
/** The same of one round, from ε = .001 to 16. */
export const roundGuarantee = union({ pure_epsilon: record({ nano: word(NANO / 1000n, 16n * NANO) }) });
export type Guarantee = typeof guarantee extends Schema<infer T> ? T : never;

/**
 * ⌊2^bits · e^(nano·10⁻⁹)⌋ or one less: never above the true value.
 *
 * The Taylor series has positive terms, each of which is rounded down; the guard bits are above what that loses.
 */
export function expLowerBound(nano: bigint, bits = FRACTION_BITS): bigint {
  const guard = 64n + 2n * (nano / NANO);
  let term = 1n << (bits + guard);
  let total = term;
  for (let index = 1n; term; index++) {
    term = (term * nano) / (index * NANO);
    total += term;
  }
  return total >> guard;
}

/** Whether numerator/denominator ≤ e^(nano·10⁻⁹), decided in integers. */
export function ratioWithin([numerator, denominator]: readonly [bigint, bigint], nano: bigint): boolean {
  return numerator << FRACTION_BITS <= denominator * expLowerBound(nano);
}

/** The least nano-ε that provably covers a ratio of likelihoods; null when none up to the largest does. */
export function epsilonOfRatio(ratio: Ratio): bigint | null {
  if (ratio === null || ratio[1] <= 0n) return null;
  if (ratio[0] < ratio[1]) return 0n;
  // The logarithms err by less than 10⁻⁴ nano-ε, so the search begins below the answer.
  const guess = BigInt(Math.floor(1e9 * (logarithm(ratio[0]) - logarithm(ratio[1])))) - 1n;
  for (let nano = guess > 0n ? guess : 0n; nano <= MAX_NANO; nano++) if (ratioWithin(ratio, nano)) return nano;
  return null;
}

/** The larger of two ratios. */
export function largerRatio(first: Ratio, second: Ratio): Ratio {
  if (first === null || second === null) return null;
  return second[0] * first[1] > first[0] * second[1] ? second : first;
}

function logarithm(number: bigint): number {
  const shift = Math.max(0, bitLength(number) - 60);
  return Math.log(Number(number >> BigInt(shift))) + shift * Math.LN2;
}
