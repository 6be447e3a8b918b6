/** Strings that nobody can list: a text by a hash of its code, and pieces of its code below a hash of what comes before. */

import { bigEndian, toBigEndian, utf8 } from "../bytes.ts";
import { digestOf } from "../documents/document.ts";
import { array, built, bytes, oneOf, record, text as textSchema, whole } from "../documents/schema.ts";
import { checkName } from "../documents/text.ts";
import { InvalidValue } from "../errors.ts";
import { SALT_BYTES } from "./hashed.ts";
import { type Attribute, unlisted } from "./members.ts";
import { TextCode } from "./text_code.ts";

const MAX_DEPTH = 512;
const MAX_PIECE = 20;
const MAX_PREFIXES = 63;
const SIZE = 1n << 64n;
const TEXT_CONTEXT = new TextEncoder().encode("sordino text v1\0");
const PREFIX_CONTEXT = new TextEncoder().encode("sordino prefix v1\0");

export class Text implements Attribute {
  readonly kind = "text";
  readonly name: string;
  readonly normal: "nfc" | "none";
  readonly depth: number;
  readonly salt: Uint8Array;
  readonly tokens: readonly Uint8Array[];
  readonly lengths: Uint8Array;
  readonly code: TextCode;
  readonly missing = false;
  readonly other = false;
  readonly size = SIZE;
  readonly listed = SIZE;
  readonly bins = 0n;
  readonly entries = 0;

  constructor(fields: {
    name: string;
    normal: "nfc" | "none";
    depth: number;
    salt: Uint8Array;
    tokens: readonly Uint8Array[];
    lengths: Uint8Array;
  }) {
    ({ name: this.name, normal: this.normal, depth: this.depth, salt: this.salt } = fields);
    ({ tokens: this.tokens, lengths: this.lengths } = fields);
    this.code = new TextCode(this.tokens, this.lengths);
  }

  get key(): string {
    return this.name;
  }

  /** The first `depth` bits of a value's code, as an integer. */
  bitsOf(value: unknown): bigint {
    return this.code.firstBits(this.utf8(value), this.depth);
  }

  label(index: bigint): string {
    return `text ${index.toString(16).padStart(16, "0")}`;
  }

  encode(value: unknown, strict: boolean): bigint {
    if (strict && this.utf8(value) === null) unlisted(this, value, strict);
    const hashed = digestOf(
      TEXT_CONTEXT,
      this.salt,
      toBigEndian(BigInt(this.depth), 2),
      packed(this.bitsOf(value), this.depth),
    );
    return bigEndian(hashed.subarray(0, 8));
  }

  /** The members of a value in this attribute and in those of its prefixes. */
  codes(value: unknown, prefixes: readonly Attribute[], strict: boolean): bigint[] {
    const bits = this.bitsOf(value);
    return [this.encode(value, strict), ...prefixes.map((each) => (each as TextPrefix).indexOf(this, bits))];
  }

  private utf8(value: unknown): Uint8Array | null {
    if (typeof value !== "string") return null;
    return utf8(this.normal === "nfc" ? value.normalize("NFC") : value);
  }
}

export class TextPrefix implements Attribute {
  readonly kind = "prefix";
  readonly name: string;
  readonly first: number;
  readonly last: number;
  readonly size = SIZE;
  readonly listed = SIZE;
  readonly bins = 0n;
  readonly entries = 0;

  constructor({ name, first, last }: { name: string; first: number; last: number }) {
    this.name = name;
    this.first = first;
    this.last = last;
    if (last <= first || last > first + MAX_PIECE) throw new InvalidValue(`a prefix has 1 to ${MAX_PIECE} bits`);
  }

  get key(): string {
    return this.name;
  }

  /** The member of a text whose code begins with these bits. */
  indexOf(text: Text, bits: bigint): bigint {
    const piece = BigInt(this.last - this.first);
    const before = bits >> BigInt(text.depth - this.first);
    const until = bits >> BigInt(text.depth - this.last);
    const ends = [this.first, this.last].map((end) => toBigEndian(BigInt(end), 2));
    const hashed = digestOf(PREFIX_CONTEXT, text.salt, ...ends, packed(before, this.first));
    const parent = bigEndian(hashed.subarray(0, 8)) >> piece;
    return (parent << piece) | (until & ((1n << piece) - 1n));
  }

  label(index: bigint): string {
    const piece = this.last - this.first;
    const bits = (index & ((1n << BigInt(piece)) - 1n)).toString(2).padStart(piece, "0");
    return `${(index >> BigInt(piece)).toString(16)}, bits ${bits}`;
  }

  encode(): bigint {
    throw new InvalidValue("the member of a prefix is found by its domain, which has the text");
  }
}

/** Throws unless text and prefixes make up the whole domain, in the one order. */
export function checkStrings(attributes: readonly Attribute[]): void {
  const [text, ...prefixes] = attributes;
  const follows = prefixes.every((each) => each instanceof TextPrefix);
  if (!(text instanceof Text) || !follows || !prefixes.length || prefixes.length > MAX_PREFIXES) {
    throw new InvalidValue("a domain of strings is one text and then 1 to 63 prefixes of it, and nothing else");
  }
  const ends = [0, ...prefixes.map((each) => (each as TextPrefix).last)];
  const starts = [...prefixes.map((each) => (each as TextPrefix).first), text.depth];
  if (ends.join() !== starts.join()) throw new InvalidValue("the prefixes of a text follow each other to its depth");
}

/** `count` bits from the highest of the first byte on, the last byte filled with zeros. */
function packed(bits: bigint, count: number): Uint8Array {
  const size = Math.ceil(count / 8);
  return toBigEndian(bits << BigInt(8 * size - count), size);
}

const name = textSchema((each) => checkName(each, "attribute name"));

export const text = built(
  record({
    name,
    normal: oneOf("nfc", "none"),
    depth: whole(8, MAX_DEPTH),
    salt: bytes(SALT_BYTES),
    tokens: array(bytes()),
    lengths: bytes(),
  }),
  (fields) => new Text(fields),
  (attribute) => attribute,
);

export const prefix = built(
  record({ name, first: whole(0, MAX_DEPTH - 1), last: whole(1, MAX_DEPTH + MAX_PIECE) }),
  (fields) => new TextPrefix(fields),
  (attribute) => attribute,
);
