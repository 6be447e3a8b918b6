/** Random partitions of the values into cells; what is drawn for one does not depend on the value and is public. */

import { array, built, record, union, word } from "../../documents/schema.ts";
import { InvalidValue } from "../../errors.ts";
import { arranged, checkSlots } from "../placements.ts";
import { drawBelow, type Randomness } from "../random.ts";
import { indexBits } from "../randomizer.ts";

const MAX_WIDTH = 1n << 63n;
const MAX_SHIFTED = 1n << 62n;
type Numbers = readonly bigint[];

/** Cells by coordinates, of which there are `shape`. */
export interface Partition {
  readonly kind: string;
  /** Throws unless the partition is one of attributes of these sizes. */
  check(sizes: Numbers): void;
  shape(sizes: Numbers): Numbers;
  /** Bits of each public number. */
  publicBits(sizes: Numbers): readonly number[];
  draw(sizes: Numbers, random: Randomness): bigint[];
  coordinates(codes: Numbers, drawn: Numbers): bigint[];
}

/** Coordinate ⌊(x + o)/w⌋ of each attribute of width w > 0, with o uniform below w. */
class GridPartition implements Partition {
  readonly kind = "grid";
  readonly widths: Numbers;
  private readonly places: readonly number[];

  constructor({ widths }: { widths: Numbers }) {
    this.widths = widths;
    this.places = [...widths.keys()].filter((at) => widths[at]);
    if (!this.places.length) throw new InvalidValue("a grid must look at one attribute at least");
  }

  check(sizes: Numbers): void {
    if (this.widths.length !== sizes.length) throw new InvalidValue("a grid has a width for each attribute");
    this.widths.forEach((width, at) => {
      const size = sizes[at]!;
      if (width > 2n * size) throw new InvalidValue("a grid is at most twice as wide as an attribute");
      if (width > 1n && size > MAX_SHIFTED) throw new InvalidValue("the attribute is too large for this width");
    });
  }

  shape(sizes: Numbers): Numbers {
    return this.places.map((at) => (sizes[at]! + this.widths[at]! - 2n) / this.widths[at]! + 1n);
  }

  publicBits(): readonly number[] {
    return this.shifted().map(indexBits);
  }

  draw(_sizes: Numbers, random: Randomness): bigint[] {
    return this.shifted().map((width) => drawBelow(random, width));
  }

  coordinates(codes: Numbers, drawn: Numbers): bigint[] {
    let next = 0;
    return this.places.map((at) => {
      const width = this.widths[at]!;
      return width === 1n ? codes[at]! : (codes[at]! + drawn[next++]!) / width;
    });
  }

  /** The widths that have an offset. */
  private shifted(): bigint[] {
    return this.widths.filter((width) => width > 1n);
  }
}

/** The values of random attributes, one of its size for each slot. */
class SubsetPartition implements Partition {
  readonly kind = "subset";
  readonly slots: Numbers;

  constructor({ slots }: { slots: Numbers }) {
    this.slots = slots;
  }

  check(sizes: Numbers): void {
    checkSlots(this.slots, sizes);
  }

  shape(): Numbers {
    return this.slots;
  }

  publicBits(sizes: Numbers): readonly number[] {
    return this.slots.map(() => indexBits(BigInt(sizes.length)));
  }

  draw(sizes: Numbers, random: Randomness): bigint[] {
    return arranged(this.slots, sizes, "as written", random).map(BigInt);
  }

  coordinates(codes: Numbers, drawn: Numbers): bigint[] {
    return drawn.map((at) => codes[Number(at)]!);
  }
}

export const partition = union({
  grid: built(
    record({ widths: array(word(0n, MAX_WIDTH), 1, 255) }),
    (fields) => new GridPartition(fields),
    (value) => value,
  ),
  subset: built(
    record({ slots: array(word(2n, MAX_WIDTH), 1, 64) }),
    (fields) => new SubsetPartition(fields),
    (value) => value,
  ),
});
