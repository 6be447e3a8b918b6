/** The whole numbers low, low + 1, …, high; the next one above a number that is none of them counts. */

import { built, flag, record, text, word } from "../documents/schema.ts";
import { checkName } from "../documents/text.ts";
import { InvalidValue, OutsideDomain } from "../errors.ts";
import { type Attribute, trailingCount, trailingLabel, unlisted } from "./members.ts";
import { exactNumber, withoutBlanks, writtenNumber } from "./numbers.ts";
import { unit } from "./ordinal.ts";

const MAX_INTEGERS = 1n << 62n;
const WHOLE = /^[+-]?[0-9]{1,19}$/;

export class Integers implements Attribute {
  readonly kind = "integers";
  readonly name: string;
  readonly low: bigint;
  readonly high: bigint;
  readonly unit: string;
  readonly missing: boolean;
  readonly other: boolean;
  readonly entries = 1;

  constructor(fields: { name: string; low: bigint; high: bigint; unit: string; missing: boolean; other: boolean }) {
    ({ name: this.name, low: this.low, high: this.high, unit: this.unit } = fields);
    ({ missing: this.missing, other: this.other } = fields);
    if (this.high < this.low) throw new InvalidValue(`attribute "${this.name}" has no members`);
    if (this.bins > MAX_INTEGERS) throw new InvalidValue(`attribute "${this.name}" has more than 2^62 integers`);
  }

  get key(): string {
    return this.name;
  }

  get bins(): bigint {
    return this.high - this.low + 1n;
  }

  get listed(): bigint {
    return this.bins;
  }

  get size(): bigint {
    return this.bins + trailingCount(this.missing, this.other);
  }

  label(index: bigint): string {
    return index < this.bins ? String(this.low + index) : trailingLabel(this, index);
  }

  encode(value: unknown, strict: boolean): bigint {
    const number = exactNumber(value) ?? (strict ? null : written(value));
    if (number === null) return this.missing && !strict ? this.bins : unlisted(this, value, strict);
    const found = ceiling(number, this.low - 1n, this.high + 1n);
    const inRange = this.low <= found && found <= this.high;
    // Mixed comparisons of a bigint and a number are exact.
    if (strict && !(inRange && found == number)) {
      throw new OutsideDomain(`attribute "${this.name}" holds whole numbers of its range alone`, this.name);
    }
    if (inRange) return found - this.low;
    if (this.other) return this.bins + BigInt(this.missing);
    return found < this.low ? 0n : this.bins - 1n;
  }
}

/** ⌈number⌉ between `low` and `high`. */
function ceiling(number: number | bigint, low: bigint, high: bigint): bigint {
  if (number <= low) return low;
  if (number > high) return high;
  return typeof number === "bigint" ? number : BigInt(Math.ceil(number));
}

/** Up to 19 digits exactly, else the nearest double. */
function written(value: unknown): number | bigint | null {
  if (typeof value !== "string") return null;
  const found = withoutBlanks(value);
  return WHOLE.test(found) ? BigInt(found) : writtenNumber(value);
}

const signed = word(-(1n << 63n), (1n << 63n) - 1n);

export const integers = built(
  record({
    name: text((each) => checkName(each, "attribute name")),
    low: signed,
    high: signed,
    unit,
    missing: flag,
    other: flag,
  }),
  (fields) => new Integers(fields),
  (attribute) => attribute,
);
