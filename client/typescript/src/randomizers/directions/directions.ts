/** Public pseudo-random directions from 16-byte seeds, and the half-sphere randomizer: a seed and one bit. */

import { joined } from "../../bytes.ts";
import { type WireArray, wireArray } from "../../documents/array.ts";
import { built, record } from "../../documents/schema.ts";
import { InvalidValue } from "../../errors.ts";
import type { Ratio } from "../epsilon.ts";
import { shake } from "../keccak.ts";
import { drawBits, type Randomness } from "../random.ts";
import { bits, CellRandomizer } from "../randomizer.ts";
import { atoms } from "./atoms.ts";

export const SEED_BYTES = 16;
const MAX_DIMENSION = 1 << 16;
const CONTEXT = new TextEncoder().encode("sordino/v1/direction");

/** The integers of the direction of a seed, not normalised. */
export function direction(seed: Uint8Array, dimension: number): Int16Array {
  const stretched = shake(128, joined(CONTEXT, seed), 2 * dimension);
  const found = new Int16Array(dimension);
  const positive = atoms();
  for (let at = 0; at < dimension; at++) {
    const word = stretched[2 * at]! | (stretched[2 * at + 1]! << 8);
    const atom = positive[word & 0x7fff]!;
    found[at] = word >> 15 ? -atom : atom;
  }
  return found;
}

export class SeededDirection extends CellRandomizer {
  readonly kind = "seeded_direction";
  readonly bits: number;
  readonly vectors: WireArray;
  readonly keepWeights: WireArray;
  readonly size: number;
  readonly dimension: number;
  readonly payloadBytes = SEED_BYTES + 1;
  private readonly least: bigint;
  private readonly most: bigint;

  constructor({ bits, vectors, keepWeights }: { bits: number; vectors: WireArray; keepWeights: WireArray }) {
    super();
    this.bits = bits;
    this.vectors = vectors;
    this.keepWeights = keepWeights;
    const [types, dimension] = vectors.shape;
    if (types === undefined || dimension === undefined) throw new InvalidValue("vectors must have two dimensions");
    if (types < 2 || types > 1 << 20 || dimension > MAX_DIMENSION) throw new InvalidValue("too many vectors, or too few");
    [this.size, this.dimension] = [types, dimension];
    vectors.checkForm("<i4", [types, dimension], "vectors");
    keepWeights.checkForm("<u8", [types], "keep weights");
    const weights = keepWeights.words();
    this.least = weights.reduce((first, second) => (second < first ? second : first));
    this.most = weights.reduce((first, second) => (second > first ? second : first));
    if (this.least === 0n || this.most >> BigInt(bits)) throw new InvalidValue("a keep weight must be below 2^bits");
  }

  likelihoodRatio(): Ratio {
    const all = 1n << BigInt(this.bits);
    const flip = all - this.least;
    const keep = all - this.most;
    return [this.most > flip ? this.most : flip, this.least < keep ? this.least : keep];
  }

  randomizeCell(cell: number, random: Randomness, coin = random): Uint8Array {
    const seed = coin.bytes(SEED_BYTES);
    const keep = drawBits(random, this.bits) < this.keepWeights.word(cell);
    return joined(seed, Uint8Array.of(Number(this.isPositive(seed, cell) === keep)));
  }

  /** Whether ⟨g, vector⟩ ≥ 0. Vectors are taken in halves of 16 bits, whose sums are exact in doubles. */
  isPositive(seed: Uint8Array, cell: number): boolean {
    const drawn = direction(seed, this.dimension);
    const start = cell * this.dimension;
    let [upper, lower] = [0, 0];
    for (let at = 0; at < this.dimension; at++) {
      const entry = this.vectors.signed(start + at);
      upper += drawn[at]! * (entry >> 16);
      lower += drawn[at]! * (entry & 0xffff);
    }
    return BigInt(upper) * 65536n + BigInt(lower) >= 0n;
  }
}

export const seededDirection = built(
  record({ bits, vectors: wireArray, keepWeights: wireArray }),
  (fields) => new SeededDirection(fields),
  (value) => value,
);
