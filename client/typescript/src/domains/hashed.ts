/** Any text, by the first bits of SHA-256(salt ‖ its UTF-8 bytes). */

import { bigEndian, utf8 } from "../bytes.ts";
import { digestOf } from "../documents/document.ts";
import { built, bytes, flag, record, text, whole } from "../documents/schema.ts";
import { checkName } from "../documents/text.ts";
import { InvalidValue } from "../errors.ts";
import { type Attribute, trailingCount, trailingLabel, unlisted } from "./members.ts";

export const SALT_BYTES = 16;

export class Hashed implements Attribute {
  readonly kind = "hashed";
  readonly name: string;
  readonly bits: number;
  readonly salt: Uint8Array;
  readonly missing: boolean;
  readonly other: boolean;
  readonly entries = 1;
  readonly bins = 0n;

  constructor(fields: { name: string; bits: number; salt: Uint8Array; missing: boolean; other: boolean }) {
    ({ name: this.name, bits: this.bits, salt: this.salt, missing: this.missing, other: this.other } = fields);
    if (this.size > 1n << 64n) throw new InvalidValue(`attribute "${this.name}" has more than 2^64 members`);
  }

  get key(): string {
    return this.name;
  }

  get listed(): bigint {
    return 1n << BigInt(this.bits);
  }

  get size(): bigint {
    return this.listed + trailingCount(this.missing, this.other);
  }

  label(index: bigint): string {
    if (index >= this.listed) return trailingLabel(this, index);
    return `hash ${index.toString(16).padStart((this.bits + 3) >> 2, "0")}`;
  }

  encode(value: unknown, strict: boolean): bigint {
    const found = typeof value === "string" ? utf8(value) : null;
    if (found === null) return unlisted(this, value, strict);
    return bigEndian(digestOf(this.salt, found).subarray(0, 8)) >> BigInt(64 - this.bits);
  }
}

export const hashed = built(
  record({
    name: text((each) => checkName(each, "attribute name")),
    bits: whole(1, 64),
    // A device reads plans alone, whose attributes have their salts.
    salt: bytes(SALT_BYTES),
    missing: flag,
    other: flag,
  }),
  (fields) => new Hashed(fields),
  (attribute) => attribute,
);
