/** 1 where the value's member of a source lies in one of some spans, else 0. */

import { array, built, record, text, union, word } from "../documents/schema.ts";
import { checkName } from "../documents/text.ts";
import { InvalidValue } from "../errors.ts";
import { categorical } from "./categorical.ts";
import { integers } from "./integers.ts";
import { type Attribute } from "./members.ts";
import { ordinal } from "./ordinal.ts";

const LAST = 1n << 62n;

interface Span {
  readonly first: bigint;
  readonly last: bigint;
}

export class Indicator implements Attribute {
  readonly kind = "indicator";
  readonly name: string;
  readonly source: Attribute;
  readonly spans: readonly Span[];
  readonly size = 2n;
  readonly listed = 2n;
  readonly bins = 0n;

  constructor({ name, source, spans }: { name: string; source: Attribute; spans: readonly Span[] }) {
    this.name = name;
    this.source = source;
    this.spans = spans;
    if (!spans.length || BigInt(spans.length) > source.size) throw new InvalidValue("an indicator has spans");
    if (spans.some(({ first, last }) => last < first)) throw new InvalidValue("a span ends before it begins");
    if (spans.at(-1)!.last >= source.size) throw new InvalidValue("a span ends beyond the members of its source");
    if (spans.some(({ first }, at) => at && first <= spans[at - 1]!.last + 1n)) {
      throw new InvalidValue("the spans of an indicator go up and leave members out between them");
    }
    if (spans.length === 1 && spans[0]!.last - spans[0]!.first + 1n === source.size) {
      throw new InvalidValue(`indicator "${name}" is 1 for every member`);
    }
  }

  get key(): string {
    return this.source.name;
  }

  get entries(): number {
    return this.source.entries + this.spans.length;
  }

  label(index: bigint): string {
    return index ? "yes" : "no";
  }

  encode(value: unknown, strict: boolean): bigint {
    const member = this.source.encode(value, strict);
    return BigInt(this.spans.some(({ first, last }) => first <= member && member <= last));
  }
}

export const indicator = built(
  record({
    name: text((each) => checkName(each, "attribute name")),
    source: union({ categorical, ordinal, integers }),
    spans: array(record({ first: word(0n, LAST), last: word(0n, LAST) })),
  }),
  (fields) => new Indicator(fields),
  (attribute) => attribute as { name: string; source: any; spans: readonly Span[] },
);
