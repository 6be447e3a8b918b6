/** Member U = ⌊(x − low)/(high − low)·2³²⌋ of a number x, in operations of doubles, then `missing`. */

import { built, flag, float, record, text } from "../documents/schema.ts";
import { checkName } from "../documents/text.ts";
import { InvalidValue, OutsideDomain } from "../errors.ts";
import { type Attribute, trailingLabel, unlisted } from "./members.ts";
import { exactNumber, general, writtenNumber } from "./numbers.ts";
import { unit } from "./ordinal.ts";

const STEPS = 2 ** 32;

export class NumberAttribute implements Attribute {
  readonly kind = "number";
  readonly name: string;
  readonly low: number;
  readonly high: number;
  readonly unit: string;
  readonly missing: boolean;
  readonly other = false;
  readonly entries = 1;
  readonly bins = BigInt(STEPS) + 1n;
  readonly listed = this.bins;

  constructor(fields: { name: string; low: number; high: number; unit: string; missing: boolean }) {
    ({ name: this.name, low: this.low, high: this.high, unit: this.unit, missing: this.missing } = fields);
    if (!(this.low < this.high && Number.isFinite(this.high - this.low))) {
      throw new InvalidValue(`attribute "${this.name}": low must be below high, and their difference a finite number`);
    }
  }

  get key(): string {
    return this.name;
  }

  get size(): bigint {
    return this.bins + BigInt(this.missing);
  }

  label(index: bigint): string {
    if (index >= this.bins) return trailingLabel(this, index);
    return general(this.low + (this.high - this.low) * (Number(index) / STEPS), 12);
  }

  encode(value: unknown, strict: boolean): bigint {
    const given = exactNumber(value);
    const number = given === null ? (strict ? null : writtenNumber(value)) : Number(given);
    if (number === null) return this.missing && !strict ? this.bins : unlisted(this, value, strict);
    if (strict && !(this.low <= number && number <= this.high)) {
      throw new OutsideDomain(`attribute "${this.name}" holds numbers of its range alone`, this.name);
    }
    if (number <= this.low) return 0n;
    if (number >= this.high) return BigInt(STEPS);
    return BigInt(Math.floor(((number - this.low) / (this.high - this.low)) * STEPS));
  }
}

export const number = built(
  record({ name: text((each) => checkName(each, "attribute name")), low: float, high: float, unit, missing: flag }),
  (fields) => new NumberAttribute(fields),
  (attribute) => attribute,
);
