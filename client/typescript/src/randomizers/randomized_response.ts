/** The value itself with the own weight, each other value with the other weight. */

import { toLittleEndian } from "../bytes.ts";
import { built, record, word } from "../documents/schema.ts";
import type { Ratio } from "./epsilon.ts";
import { drawBits, type Randomness } from "./random.ts";
import { bits, CellRandomizer, checkWithin, indexBytes, size } from "./randomizer.ts";

export class RandomizedResponse extends CellRandomizer {
  readonly kind = "randomized_response";
  readonly size: number;
  readonly bits: number;
  readonly otherWeight: bigint;

  constructor(fields: { size: number; bits: number; otherWeight: bigint }) {
    super();
    ({ size: this.size, bits: this.bits, otherWeight: this.otherWeight } = fields);
    checkWithin(this.otherWeight, 1n, (1n << BigInt(this.bits)) / BigInt(this.size), "weight of another value");
  }

  get payloadBytes(): number {
    return indexBytes(this.size);
  }

  likelihoodRatio(): Ratio {
    return [this.ownWeight, this.otherWeight];
  }

  randomizeCell(cell: number, random: Randomness): Uint8Array {
    const beyond = drawBits(random, this.bits) - this.ownWeight;
    const other = beyond / this.otherWeight;
    const shifted = other + BigInt(other >= BigInt(cell));
    return toLittleEndian(beyond < 0n ? BigInt(cell) : shifted, this.payloadBytes);
  }

  private get ownWeight(): bigint {
    return (1n << BigInt(this.bits)) - BigInt(this.size - 1) * this.otherWeight;
  }
}

export const randomizedResponse = built(
  record({ size, bits, otherWeight: word(1n, 1n << 62n) }),
  (fields) => new RandomizedResponse(fields),
  (value) => value,
);
