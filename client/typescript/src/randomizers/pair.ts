/** Two independent draws of the same value: a payload of the first randomizer, then one of the second. */

import { joined } from "../bytes.ts";
import { built, record, union } from "../documents/schema.ts";
import { InvalidValue } from "../errors.ts";
import type { Ratio } from "./epsilon.ts";
import { basic } from "./kinds.ts";
import type { Randomness } from "./random.ts";
import { CellRandomizer } from "./randomizer.ts";

export class Pair extends CellRandomizer {
  readonly kind = "pair";
  readonly first: CellRandomizer;
  readonly second: CellRandomizer;

  constructor({ first, second }: { first: CellRandomizer; second: CellRandomizer }) {
    super();
    this.first = first;
    this.second = second;
    if (first.size !== second.size) throw new InvalidValue("the two randomizers of a pair are for one number of types");
  }

  get size(): number {
    return this.first.size;
  }

  get payloadBytes(): number {
    return this.first.payloadBytes + this.second.payloadBytes;
  }

  likelihoodRatio(): Ratio {
    const [first, second] = [this.first.likelihoodRatio(), this.second.likelihoodRatio()];
    return first && second && [first[0] * second[0], first[1] * second[1]];
  }

  randomizeCell(cell: number, random: Randomness, coin?: Randomness): Uint8Array {
    const first = this.first.randomizeCell(cell, random, coin);
    return joined(first, this.second.randomizeCell(cell, random, coin));
  }
}

const { finite_kernel, seeded_direction } = basic;
const paired = union({ finite_kernel, seeded_direction });

export const pair = built(
  record({ first: paired, second: paired }),
  (fields) => new Pair(fields),
  (value) => value as any,
);
