/** One level: a partition, a label of its cells, and the labels that get the high weight. */

import { littleEndian } from "../../bytes.ts";
import { InvalidValue } from "../../errors.ts";
import { drawBelow, type Randomness } from "../random.ts";
import { bitCount, checkWithin, indexBits, product } from "../randomizer.ts";
import { drawnWords, type Label } from "./labels.ts";
import type { Partition } from "./partitions.ts";

type Numbers = readonly bigint[];

/** Drawn with chance/2³²; y = t ⊖ z for the value's label t and a z of the high weight in `members`, low outside. */
export class Level {
  readonly chance: bigint;
  readonly partition: Partition;
  readonly label: Label;
  readonly members: Uint8Array;

  constructor(chance: bigint, partition: Partition, label: Label, members: Uint8Array) {
    this.chance = chance;
    this.partition = partition;
    this.label = label;
    this.members = members;
  }

  /** Throws unless the level is one for attributes of these sizes. */
  check(sizes: Numbers): void {
    this.partition.check(sizes);
    const shape = this.partition.shape(sizes);
    checkWithin(product(shape), 2n, 1n << 64n, "number of cells of a level");
    this.label.check(shape);
    if (!this.members.at(-1)) throw new InvalidValue("the members of a level are a bitmap whose last byte is not 0");
    const set = littleEndian(this.members);
    if (set >> this.label.count) throw new InvalidValue("a member of a level is no label");
    if (BigInt(bitCount(set)) === this.label.count) throw new InvalidValue("all labels are members of a level");
  }

  /** Bits of each field that follows the level's number: offsets or places, words of the label, y. */
  fieldBits(sizes: Numbers): readonly number[] {
    const words = this.label.wordBits(this.partition.shape(sizes));
    return [...this.partition.publicBits(sizes), ...words, indexBits(this.label.count)];
  }

  /** The fields of one report for a value. */
  draw(
    sizes: Numbers,
    codes: Numbers,
    weights: { low: bigint; high: bigint },
    random: Randomness,
    coin: Randomness,
  ): bigint[] {
    const shape = this.partition.shape(sizes);
    const drawn = this.partition.draw(sizes, coin);
    const words = drawnWords(this.label, shape, coin);
    const label = this.label.label(this.partition.coordinates(codes, drawn), shape, words);
    return [...drawn, ...words, this.label.minus(label, this.drawShift(weights, random))];
  }

  private drawShift({ low, high }: { low: bigint; high: bigint }, random: Randomness): bigint {
    const set = littleEndian(this.members);
    const members: bigint[] = [];
    const others: bigint[] = [];
    for (let label = 0n; label < this.label.count; label++) ((set >> label) & 1n ? members : others).push(label);
    const beyond = BigInt(members.length) * high;
    const draw = drawBelow(random, beyond + BigInt(others.length) * low);
    return draw < beyond ? members[Number(draw / high)]! : others[Number((draw - beyond) / low)]!;
  }
}
