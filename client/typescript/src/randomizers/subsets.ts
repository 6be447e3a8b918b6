/** A random subset of the cells, in which the value is more often than another: of one size, or of a size that is drawn. */

import { littleEndian, toLittleEndian } from "../bytes.ts";
import { array, built, record, whole, word } from "../documents/schema.ts";
import { InvalidValue } from "../errors.ts";
import { largerRatio, type Ratio } from "./epsilon.ts";
import { drawBelow, drawBits, place, type Randomness } from "./random.ts";
import { bits, CellRandomizer, checkWithin, size } from "./randomizer.ts";

export class SubsetSelection extends CellRandomizer {
  readonly kind = "subset_selection";
  readonly size: number;
  readonly subsetSize: number;
  readonly bits: number;
  readonly includeWeight: bigint;

  constructor(fields: { size: number; subsetSize: number; bits: number; includeWeight: bigint }) {
    super();
    ({ size: this.size, subsetSize: this.subsetSize, bits: this.bits, includeWeight: this.includeWeight } = fields);
    checkWithin(BigInt(this.subsetSize), 1n, BigInt(this.size - 1), "subset size");
    checkWithin(this.includeWeight, 1n, (1n << BigInt(this.bits)) - 1n, "weight of including the value");
    const [included, excluded] = this.likelihoodRatio();
    if (included < excluded) throw new InvalidValue("subsets must contain the value at least as often as another");
  }

  get payloadBytes(): number {
    return (this.size + 7) >> 3;
  }

  likelihoodRatio(): readonly [bigint, bigint] {
    const excluded = (1n << BigInt(this.bits)) - this.includeWeight;
    return [this.includeWeight * BigInt(this.size - this.subsetSize), excluded * BigInt(this.subsetSize)];
  }

  randomizeCell(cell: number, random: Randomness): Uint8Array {
    const included = BigInt(drawBits(random, this.bits) < this.includeWeight);
    const chosen = uniformSubset(this.size - 1, this.subsetSize - Number(included), random);
    // The others are numbered without the value's own cell.
    const below = chosen & ((1n << BigInt(cell)) - 1n);
    const members = below | ((chosen ^ below) << 1n) | (included << BigInt(cell));
    return toLittleEndian(members, this.payloadBytes);
  }
}

/** A uniform set of `size` of `count` numbers as the bits of an integer (Floyd's algorithm on the smaller side). */
function uniformSubset(count: number, size: number, random: Randomness): bigint {
  const drawn = Math.min(size, count - size);
  const members = new Uint8Array((count + 7) >> 3);
  for (let last = count - drawn; last < count; last++) {
    let number = Number(drawBelow(random, BigInt(last + 1)));
    if ((members[number >> 3]! >> (number & 7)) & 1) number = last;
    members[number >> 3]! |= 1 << (number & 7);
  }
  const chosen = littleEndian(members);
  return drawn === size ? chosen : chosen ^ ((1n << BigInt(count)) - 1n);
}

export class SubsetMixture extends CellRandomizer {
  readonly kind = "subset_mixture";
  readonly size: number;
  readonly bits: number;
  readonly subsetSizes: readonly number[];
  readonly sizeWeights: readonly bigint[];
  readonly includeWeights: readonly bigint[];
  readonly parts: readonly SubsetSelection[];

  constructor(fields: {
    size: number;
    bits: number;
    subsetSizes: readonly number[];
    sizeWeights: readonly bigint[];
    includeWeights: readonly bigint[];
  }) {
    super();
    ({ size: this.size, bits: this.bits, subsetSizes: this.subsetSizes } = fields);
    ({ sizeWeights: this.sizeWeights, includeWeights: this.includeWeights } = fields);
    this.checkWeights();
    this.parts = this.subsetSizes.map(
      (subsetSize, at) =>
        new SubsetSelection({ size: this.size, subsetSize, bits: this.bits, includeWeight: this.includeWeights[at]! }),
    );
  }

  get payloadBytes(): number {
    return (this.size + 7) >> 3;
  }

  likelihoodRatio(): Ratio {
    return this.parts.map((part) => part.likelihoodRatio() as Ratio).reduce(largerRatio);
  }

  randomizeCell(cell: number, random: Randomness): Uint8Array {
    const drawn = place(this.sizeWeights, drawBits(random, this.bits));
    return this.parts[drawn]!.randomizeCell(cell, random);
  }

  private checkWeights(): void {
    const { length } = this.subsetSizes;
    if (this.sizeWeights.length !== length || this.includeWeights.length !== length) {
      throw new InvalidValue("every subset size needs a weight and a weight of including the value");
    }
    if (this.subsetSizes.some((each, at) => at && this.subsetSizes[at - 1]! >= each)) {
      throw new InvalidValue("subset sizes must be strictly increasing");
    }
    if (this.sizeWeights.reduce((sum, weight) => sum + weight, 0n) !== 1n << BigInt(this.bits)) {
      throw new InvalidValue("the weights of the subset sizes must sum to 2^bits");
    }
  }
}

const weight = word(1n, 1n << 62n);

export const subsetSelection = built(
  record({ size, subsetSize: whole(1, 1 << 20), bits, includeWeight: weight }),
  (fields) => new SubsetSelection(fields),
  (value) => value,
);

export const subsetMixture = built(
  record({
    size,
    bits,
    subsetSizes: array(whole(1, 1 << 20), 1, 64),
    sizeWeights: array(weight),
    includeWeights: array(weight),
  }),
  (fields) => new SubsetMixture(fields),
  (value) => value,
);
