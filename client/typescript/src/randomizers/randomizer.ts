/** What every randomizer offers: its law in integers, and one sample as a payload of fixed width. */

import { bitLength } from "../bytes.ts";
import { whole } from "../documents/schema.ts";
import { InvalidValue } from "../errors.ts";
import type { Ratio } from "./epsilon.ts";
import type { Randomness } from "./random.ts";

/** A law of payloads for each value of a domain. */
export interface Randomizer {
  readonly kind: string;
  readonly payloadBytes: number;
  /** The largest ratio of likelihoods of any two values. */
  likelihoodRatio(): Ratio;
  /** Throws unless the randomizer is for attributes of these sizes. */
  checkDomain(shape: readonly bigint[]): void;
  /** Throws unless it fits attributes of which so many members are ordered, 0 for no order. */
  checkOrdered?(ordered: readonly bigint[]): void;
  /** One payload for a value by the indices of its members; `coin`: from what its public part is drawn. */
  randomize(codes: readonly bigint[], shape: readonly bigint[], random: Randomness, coin?: Randomness): Uint8Array;
}

/** A randomizer whose values are the numbers of cells. */
export abstract class CellRandomizer implements Randomizer {
  abstract readonly kind: string;
  abstract readonly payloadBytes: number;
  /** How many cells there are. */
  abstract readonly size: number;
  abstract likelihoodRatio(): Ratio;
  abstract randomizeCell(cell: number, random: Randomness, coin?: Randomness): Uint8Array;

  checkDomain(shape: readonly bigint[]): void {
    const cells = product(shape);
    if (BigInt(this.size) !== cells) throw new InvalidValue(`the randomizer is for ${this.size} types, not ${cells}`);
  }

  randomize(codes: readonly bigint[], shape: readonly bigint[], random: Randomness, coin?: Randomness): Uint8Array {
    return this.randomizeCell(Number(cellNumber(codes, shape)), random, coin);
  }
}

/** Probabilities are integers over 2^bits. */
export const bits = whole(16, 62);
/** Types that a kernel is for. */
export const size = whole(2, 1 << 20);

export function product(numbers: readonly bigint[]): bigint {
  return numbers.reduce((all, each) => all * each, 1n);
}

/** The number of a cell: the last code varies fastest. */
export function cellNumber(codes: readonly bigint[], shape: readonly bigint[]): bigint {
  return codes.reduce((cell, code, at) => cell * shape[at]! + code, 0n);
}

/** The codes of a cell's number. */
export function cellCodes(cell: bigint, shape: readonly bigint[]): bigint[] {
  const codes = new Array<bigint>(shape.length);
  for (let at = shape.length - 1; at >= 0; at--) {
    codes[at] = cell % shape[at]!;
    cell /= shape[at]!;
  }
  return codes;
}

/** Bytes that hold an output index: 1, 2 or 4. */
export function indexBytes(outputs: number): number {
  return outputs <= 1 << 8 ? 1 : outputs <= 1 << 16 ? 2 : 4;
}

/** Bits that hold every index below `count`. */
export function indexBits(count: bigint): number {
  return bitLength(count - 1n);
}

/** Bits that are set. */
export function bitCount(number: bigint): number {
  let count = 0;
  for (; number; number >>= 32n) {
    let half = Number(number & 0xffffffffn);
    for (; half; half &= half - 1) count++;
  }
  return count;
}

/** Throws unless low ≤ value ≤ high. */
export function checkWithin(value: bigint, low: bigint, high: bigint, what: string): void {
  if (value < low || value > high) throw new InvalidValue(`${what} must be from ${low} to ${high}, got ${value}`);
}
