/**
 * Finite kernels: a table of integers over 2^bits, whose rows have bounded ratios; what a column leaves of 2^bits is the
 * weight of the null output. The table comes dense, or as two levels and one bit an entry.
 */

import { toLittleEndian } from "../bytes.ts";
import { WireArray, wireArray } from "../documents/array.ts";
import { built, record, union } from "../documents/schema.ts";
import { InvalidValue } from "../errors.ts";
import { largerRatio, type Ratio } from "./epsilon.ts";
import { drawBits, place, type Randomness } from "./random.ts";
import { bits, CellRandomizer, indexBytes, size } from "./randomizer.ts";

const MAX_OUTPUTS = 1 << 20;
const MAX_ENTRIES = 1 << 24;
type Halves = readonly [number, number];

/** The rows of a kernel. */
interface Rows {
  readonly kind: string;
  readonly outputs: number;
  readonly types: number;
  /** The least and the greatest integer of every row. */
  extremes(): Iterable<readonly [bigint, bigint]>;
  /** The sums of the columns. */
  sums(): ColumnSums;
  /** The integers of one type. */
  column(cell: number): Iterable<bigint>;
}

/** Sums of words, the upper and lower halves apart: up to 2^20 halves below 2^32 are exact in a double. */
class ColumnSums {
  private readonly upper: Float64Array;
  private readonly lower: Float64Array;

  constructor(columns: number) {
    this.upper = new Float64Array(columns);
    this.lower = new Float64Array(columns);
  }

  add(column: number, [upper, lower]: Halves): void {
    this.upper[column]! += upper;
    this.lower[column]! += lower;
  }

  /** The least and the greatest sum. */
  range(): readonly [bigint, bigint] {
    let [least, greatest] = [this.sum(0), this.sum(0)];
    for (let column = 1; column < this.upper.length; column++) {
      const sum = this.sum(column);
      if (sum < least) least = sum;
      if (sum > greatest) greatest = sum;
    }
    return [least, greatest];
  }

  private sum(column: number): bigint {
    return (BigInt(this.upper[column]!) << 32n) + BigInt(this.lower[column]!);
  }
}

class DenseRows implements Rows {
  readonly kind = "dense";
  readonly table: WireArray;
  readonly outputs: number;
  readonly types: number;

  constructor({ table }: { table: WireArray }) {
    this.table = table;
    [this.outputs, this.types] = twoDimensions(table);
    table.checkForm("<u8", [this.outputs, this.types], "kernel table");
    checkExtent(this.outputs, this.types);
  }

  *extremes(): Iterable<readonly [bigint, bigint]> {
    for (let row = 0; row < this.outputs; row++) {
      const start = row * this.types;
      let least = this.table.halves(start);
      let greatest = least;
      for (let at = start + 1; at < start + this.types; at++) {
        const word = this.table.halves(at);
        if (isBelow(word, least)) least = word;
        if (isBelow(greatest, word)) greatest = word;
      }
      yield [asWord(least), asWord(greatest)];
    }
  }

  sums(): ColumnSums {
    const sums = new ColumnSums(this.types);
    for (let at = 0; at < this.table.length; at++) sums.add(at % this.types, this.table.halves(at));
    return sums;
  }

  *column(cell: number): Iterable<bigint> {
    for (let row = 0; row < this.outputs; row++) yield this.table.word(row * this.types + cell);
  }
}

class TwoLevelRows implements Rows {
  readonly kind = "two_level";
  readonly types: number;
  readonly low: WireArray;
  readonly high: WireArray;
  readonly members: WireArray;
  readonly outputs: number;
  private readonly width: number;

  constructor({ types, low, high, members }: { types: number; low: WireArray; high: WireArray; members: WireArray }) {
    this.types = types;
    this.low = low;
    this.high = high;
    this.members = members;
    this.outputs = low.shape[0]!;
    this.width = (types + 7) >> 3;
    checkExtent(this.outputs, types);
    low.checkForm("<u8", [this.outputs], "low levels");
    high.checkForm("<u8", [this.outputs], "high levels");
    members.checkForm("|u1", [this.outputs, this.width], "members");
    this.checkUnusedBits();
  }

  *extremes(): Iterable<readonly [bigint, bigint]> {
    for (let row = 0; row < this.outputs; row++) {
      const [low, high] = [this.low.word(row), this.high.word(row)];
      const inside = this.countInside(row);
      if (inside === this.types) yield [high, high];
      else if (!inside) yield [low, low];
      else yield low < high ? [low, high] : [high, low];
    }
  }

  sums(): ColumnSums {
    const sums = new ColumnSums(this.types);
    for (let row = 0; row < this.outputs; row++) {
      const levels = [this.low.halves(row), this.high.halves(row)] as const;
      for (let cell = 0; cell < this.types; cell++) sums.add(cell, levels[this.isInside(row, cell)]!);
    }
    return sums;
  }

  *column(cell: number): Iterable<bigint> {
    for (let row = 0; row < this.outputs; row++) {
      const levels = [this.low.word(row), this.high.word(row)] as const;
      yield levels[this.isInside(row, cell)]!;
    }
  }

  private isInside(row: number, cell: number): 0 | 1 {
    return ((this.members.data[row * this.width + (cell >> 3)]! >> (cell & 7)) & 1) as 0 | 1;
  }

  private countInside(row: number): number {
    let count = 0;
    for (let at = row * this.width; at < (row + 1) * this.width; at++) {
      for (let byte = this.members.data[at]!; byte; byte &= byte - 1) count++;
    }
    return count;
  }

  private checkUnusedBits(): void {
    const used = this.types % 8;
    for (let at = this.width - 1; used && at < this.members.data.length; at += this.width) {
      if (this.members.data[at]! >> used) throw new InvalidValue("bits past the last type must be zero");
    }
  }
}

/** K(y|x) = table[y, x]/2^bits for the m rows; output m, where a column leaves something, is the null output. */
export class FiniteKernel extends CellRandomizer {
  readonly kind = "finite_kernel";
  readonly bits: number;
  readonly rows: Rows;
  readonly size: number;
  readonly payloadBytes: number;
  private readonly ratio: Ratio;

  constructor({ bits, rows }: { bits: number; rows: Rows }) {
    super();
    this.bits = bits;
    this.rows = rows;
    this.size = rows.types;
    const all = 1n << BigInt(bits);
    let ratio: Ratio = [1n, 1n];
    for (const [least, greatest] of rows.extremes()) {
      if (greatest > all) throw new InvalidValue("a kernel entry is above 2^bits: a probability above one");
      ratio = largerRatio(ratio, ratioOf(least, greatest));
    }
    const [least, greatest] = rows.sums().range();
    if (greatest > all) throw new InvalidValue("a kernel column sums to more than 2^bits");
    this.ratio = largerRatio(ratio, ratioOf(all - greatest, all - least));
    this.payloadBytes = indexBytes(rows.outputs + Number(least < all));
  }

  likelihoodRatio(): Ratio {
    return this.ratio;
  }

  randomizeCell(cell: number, random: Randomness): Uint8Array {
    const drawn = place(this.rows.column(cell), drawBits(random, this.bits));
    return toLittleEndian(BigInt(drawn), this.payloadBytes);
  }
}

/** The ratio of a row; null where it is possible for one type and impossible for another. */
function ratioOf(least: bigint, greatest: bigint): Ratio {
  if (!greatest) return [1n, 1n];
  return least ? [greatest, least] : null;
}

function isBelow([firstUpper, firstLower]: Halves, [secondUpper, secondLower]: Halves): boolean {
  return firstUpper < secondUpper || (firstUpper === secondUpper && firstLower < secondLower);
}

function asWord([upper, lower]: Halves): bigint {
  return (BigInt(upper) << 32n) | BigInt(lower);
}

function twoDimensions(table: WireArray): [number, number] {
  const [rows, columns] = table.shape;
  if (rows === undefined || columns === undefined) throw new InvalidValue("a kernel table has two dimensions");
  return [rows, columns];
}

function checkExtent(rows: number, columns: number): void {
  if (columns < 2 || columns > 1 << 20) throw new InvalidValue(`a kernel has 2 to ${1 << 20} types`);
  if (rows > MAX_OUTPUTS || rows * columns > MAX_ENTRIES) {
    throw new InvalidValue(`a kernel of ${rows} × ${columns} is too large`);
  }
}

const dense = built(record({ table: wireArray }), (fields) => new DenseRows(fields), (value) => value);
const twoLevel = built(
  record({ types: size, low: wireArray, high: wireArray, members: wireArray }),
  (fields) => new TwoLevelRows(fields),
  (value) => value,
);

export const finiteKernel = built(
  record({ bits, rows: union({ dense, two_level: twoLevel }) }),
  (fields) => new FiniteKernel(fields),
  (value) => value as any,
);
