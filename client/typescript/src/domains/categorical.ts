/** Unordered labels, then `missing` and `other` where the attribute has them. */

import { array, built, flag, record, text } from "../documents/schema.ts";
import { checkName } from "../documents/text.ts";
import { InvalidValue } from "../errors.ts";
import { type Attribute, checkDistinct, checkListable, trailing, unlisted } from "./members.ts";

export class Categorical implements Attribute {
  readonly kind = "categorical";
  readonly name: string;
  readonly categories: readonly string[];
  readonly missing: boolean;
  readonly other: boolean;
  readonly labels: readonly string[];
  private readonly positions: ReadonlyMap<unknown, bigint>;

  constructor(fields: { name: string; categories: readonly string[]; missing: boolean; other: boolean }) {
    ({ name: this.name, categories: this.categories, missing: this.missing, other: this.other } = fields);
    checkListable(this.categories.length, this.name);
    this.labels = [...this.categories, ...trailing(this.missing, this.other)];
    checkDistinct(this.labels, `members of attribute "${this.name}"`);
    if (!this.labels.length) throw new InvalidValue(`attribute "${this.name}" has no members`);
    this.positions = new Map(this.categories.map((category, at) => [category, BigInt(at)]));
  }

  readonly bins = 0n;

  get key(): string {
    return this.name;
  }

  get size(): bigint {
    return BigInt(this.labels.length);
  }

  get listed(): bigint {
    return BigInt(this.categories.length);
  }

  get entries(): number {
    return this.labels.length;
  }

  label(index: bigint): string {
    return this.labels[Number(index)]!;
  }

  encode(value: unknown, strict: boolean): bigint {
    return this.positions.get(value) ?? unlisted(this, value, strict);
  }
}

const name = text((each) => checkName(each, "attribute name"));

export const categorical = built(
  record({ name, categories: array(text((each) => checkName(each, "category"))), missing: flag, other: flag }),
  (fields) => new Categorical(fields),
  (attribute) => attribute,
);
