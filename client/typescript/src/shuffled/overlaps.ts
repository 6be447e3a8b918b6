/** How many cells a set shares with its own shifts. */

import { bitCount } from "../randomizers/randomizer.ts";
import { InvalidValue } from "../errors.ts";

/** As the shuffler: longer computations are refused, and so are all of one part that together take longer. */
export const MAX_STEPS = 1 << 26;

/** The cells times the sum of `shape`, or the square of the cells over 64 for one axis. */
export function overlapSteps(shape: readonly number[]): number {
  const cells = shape.reduce((all, size) => all * size, 1);
  return shape.length === 1 ? Math.floor(cells ** 2 / 64) : cells * shape.reduce((all, size) => all + size, 0);
}

/**
 * min over d ≠ 0 of |S ∩ (S + d)|; bit c of `members` is 1 where cell c, numbered row by row, is in S.
 *
 * Cells are those of a product of cyclic groups of the sizes `shape`. Throws InvalidValue where it takes too long.
 */
export function leastOverlap(members: bigint, shape: readonly number[]): number {
  const cells = shape.reduce((all, size) => all * size, 1);
  if (overlapSteps(shape) > MAX_STEPS) throw new InvalidValue(`shifts of ${cells} cells are too many for a proof of their blanket`);
  return shape.length === 1 ? ofOneAxis(members, cells) : ofSeveral(members, shape, cells);
}

function ofOneAxis(members: bigint, cells: number): number {
  const words = Math.ceil(cells / 32);
  const own = bitmap(members, words);
  // Twice in a row, so that a shift is a window.
  const twice = bitmap(members | (members << BigInt(cells)), 2 * words + 1);
  let least = bitCount(members);
  // A shift and the one back share as many cells.
  for (let d = 1; d <= cells >> 1; d++) {
    const [start, bit] = [d >> 5, d & 31];
    let shared = 0;
    for (let at = 0; at < words; at++) {
      const above = bit ? twice[start + at + 1]! << (32 - bit) : 0;
      shared += bitsOf(own[at]! & ((twice[start + at]! >>> bit) | above));
    }
    least = Math.min(least, shared);
  }
  return least;
}

function bitmap(bits: bigint, words: number): Uint32Array {
  const digits = bits.toString(16).padStart(8 * words, "0");
  return Uint32Array.from({ length: words }, (_, at) => parseInt(digits.slice(-8 * (at + 1), digits.length - 8 * at), 16));
}

function bitsOf(word: number): number {
  word -= (word >>> 1) & 0x55555555;
  word = (word & 0x33333333) + ((word >>> 2) & 0x33333333);
  return Math.imul((word + (word >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** The autocorrelation is the transform of |F|² of the indicator, over the number of cells. */
function ofSeveral(members: bigint, shape: readonly number[], cells: number): number {
  const digits = members.toString(2).padStart(cells, "0");
  const [real, imaginary] = transformed(Float64Array.from({ length: cells }, (_, at) => Number(digits[cells - 1 - at])), shape);
  const powers = real.map((each, at) => each * each + imaginary[at]! * imaginary[at]!);
  const [counts] = transformed(powers, shape);
  return counts.subarray(1).reduce((least, each) => Math.min(least, Math.round(Math.abs(each) / cells)), cells);
}

/** The Fourier transform of a real array along every axis, each by its definition: axes are short. */
function transformed(points: Float64Array, shape: readonly number[]): [Float64Array, Float64Array] {
  let [real, imaginary] = [points, new Float64Array(points.length)];
  let stride = points.length;
  for (const size of shape) {
    stride /= size;
    const cosines = Float64Array.from({ length: size }, (_, k) => Math.cos((2 * Math.PI * k) / size));
    const sines = Float64Array.from({ length: size }, (_, k) => Math.sin((2 * Math.PI * k) / size));
    const [re, im] = [new Float64Array(points.length), new Float64Array(points.length)];
    for (let start = 0; start < points.length; start += stride * size) {
      for (let inner = start; inner < start + stride; inner++) {
        for (let k = 0; k < size; k++) {
          let [sum, other] = [0, 0];
          for (let j = 0, turn = 0; j < size; j++, turn = (turn + k) % size) {
            const [x, y] = [real[inner + j * stride]!, imaginary[inner + j * stride]!];
            sum += x * cosines[turn]! + y * sines[turn]!;
            other += y * cosines[turn]! - x * sines[turn]!;
          }
          re[inner + k * stride] = sum;
          im[inner + k * stride] = other;
        }
      }
    }
    [real, imaginary] = [re, im];
  }
  return [real, imaginary];
}
