/** Coarsen, then respond: for very large domains. Neither reports nor plans grow with the number of types. */

import { toLittleEndian } from "../../bytes.ts";
import { array, built, bytes, checked, record, word } from "../../documents/schema.ts";
import { InvalidValue } from "../../errors.ts";
import type { Ratio } from "../epsilon.ts";
import { drawBits, place, type Randomness } from "../random.ts";
import { checkWithin, indexBits, type Randomizer } from "../randomizer.ts";
import { label, type Label } from "./labels.ts";
import { Level } from "./level.ts";
import { partition, type Partition } from "./partitions.ts";

const MAX_WEIGHT = 1n << 62n;
const MAX_LEVELS = 256;
const CHANCE_BITS = 32;

interface Family {
  readonly label: Label;
  readonly members: Uint8Array;
  readonly partitions: readonly Partition[];
  readonly chances: readonly bigint[];
}

interface Fields {
  largest: readonly bigint[];
  low: bigint;
  high: bigint;
  families: readonly Family[];
}

/** Level ℓ by its chance; the cell of x in its random partition; the cell's label t; y = t ⊖ z. */
export class Coarsened implements Randomizer {
  readonly kind = "coarsened";
  readonly largest!: readonly bigint[];
  readonly low!: bigint;
  readonly high!: bigint;
  readonly families!: readonly Family[];
  readonly payloadBytes: number;
  private readonly sizes: readonly bigint[];
  readonly levels: readonly Level[];
  private readonly fieldBits: readonly (readonly number[])[];

  constructor(fields: Fields) {
    Object.assign(this, fields);
    this.sizes = this.largest.map((index) => index + 1n);
    this.levels = this.families.flatMap(({ label, members, partitions, chances }) =>
      partitions.map((each, at) => new Level(chances[at]!, each, label, members)),
    );
    this.check();
    const number = indexBits(BigInt(this.levels.length));
    this.fieldBits = this.levels.map((level) => [number, ...level.fieldBits(this.sizes)]);
    const widest = Math.max(...this.fieldBits.map((bits) => bits.reduce((sum, each) => sum + each, 0)));
    this.payloadBytes = Math.ceil(widest / 8);
  }

  likelihoodRatio(): Ratio {
    return [this.high, this.low];
  }

  checkDomain(shape: readonly bigint[]): void {
    if (this.sizes.join() !== shape.join()) throw new InvalidValue("the randomizer's attributes are not the domain's");
  }

  randomize(codes: readonly bigint[], _shape: readonly bigint[], random: Randomness, coin = random): Uint8Array {
    const number = place(this.levels.map((level) => level.chance), drawBits(coin, CHANCE_BITS));
    const fields = [BigInt(number), ...this.levels[number]!.draw(this.sizes, codes, this, random, coin)];
    let [packed, start] = [0n, 0n];
    fields.forEach((field, at) => {
      packed |= field << start;
      start += BigInt(this.fieldBits[number]![at]!);
    });
    return toLittleEndian(packed, this.payloadBytes);
  }

  private check(): void {
    if (this.levels.length > MAX_LEVELS) throw new InvalidValue(`there are at most ${MAX_LEVELS} levels`);
    this.levels.forEach((level) => level.check(this.sizes));
    checkWithin(this.high, this.low, MAX_WEIGHT, "high weight");
    if (this.levels.some((level) => (this.high * level.label.count) >> 63n)) {
      throw new InvalidValue("the high weight times the number of labels must be below 2^63");
    }
    const total = this.levels.reduce((sum, level) => sum + level.chance, 0n);
    if (total !== 1n << BigInt(CHANCE_BITS)) throw new InvalidValue("the chances of the levels must sum to 2^32");
  }
}

const family = checked(
  record({
    label,
    members: bytes(),
    partitions: array(partition, 1, MAX_LEVELS),
    chances: array(word(1n, 1n << BigInt(CHANCE_BITS)), 1, MAX_LEVELS),
  }),
  ({ partitions, chances }) => {
    if (partitions.length !== chances.length) throw new InvalidValue("each partition of a family has a chance");
  },
);
const weight = word(1n, MAX_WEIGHT);

export const coarsened = built(
  record({
    largest: array(word(0n, (1n << 64n) - 1n), 1, 255),
    low: weight,
    high: weight,
    families: array(family, 1, MAX_LEVELS),
  }),
  (fields) => new Coarsened(fields),
  (value) => value as any,
);
