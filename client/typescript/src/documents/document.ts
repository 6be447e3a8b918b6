/** Documents: versioned canonical bytes with a digest. */

import { joined, sameBytes } from "../bytes.ts";
import { DigestMismatch, MalformedDocument, UnsupportedVersion } from "../errors.ts";
import { sha256 } from "../sha256.ts";
import { decode, encode, type Plain } from "./cbor.ts";
import { type Schema, array, bytes, checked } from "./schema.ts";
import { InvalidValue } from "../errors.ts";

export const MAX_ITEMS = 1 << 20;

/** One type of document: `limit` is the most bytes, `maxItems` the most arrays, maps, keys and scalars. */
export class DocumentType<T> {
  readonly name: string;
  readonly limit: number;
  private readonly maxItems: number;
  private readonly schema: Schema<T>;

  constructor(name: string, limits: { bytes: number; items: number }, schema: Schema<T>) {
    this.name = name;
    this.limit = limits.bytes;
    this.maxItems = limits.items;
    this.schema = schema;
  }

  /**
   * The value of the bytes; with `digest` only where it names exactly these.
   *
   * Throws OversizedDocument, DigestMismatch, UnsupportedVersion or MalformedDocument.
   */
  read(content: Uint8Array, digest?: Uint8Array): T {
    if (digest && !sameBytes(sha256(content), digest)) throw new DigestMismatch();
    const plain = decode(content, this.limit, this.maxItems);
    if (!(plain instanceof Map) || plain.get("document") !== this.name) {
      throw new MalformedDocument(`not a ${this.name}`);
    }
    const version = plain.get("version");
    if (typeof version !== "bigint") throw new MalformedDocument("version must be an integer");
    if (version !== 1n) throw new UnsupportedVersion(version);
    plain.delete("document");
    plain.delete("version");
    return this.schema.read(plain, "");
  }

  /** The canonical bytes of a value. */
  write(value: T): Uint8Array<ArrayBuffer> {
    const fields = this.schema.write(value) as Map<string, Plain>;
    return encode(new Map([...fields, ["document", this.name], ["version", 1n]]));
  }
}

/** 32 bytes: a SHA-256, which names immutable bytes. */
export const digest = bytes(32);
export const SIGNATURE_BYTES = 64;

/** An array whose items, or what `key` makes of each, rise strictly in the order of `compare`. */
export function rising<T, K>(
  inner: Schema<T>,
  [low, high]: readonly [number, number],
  key: (item: T) => K,
  compare: (first: K, second: K) => number,
): Schema<readonly T[]> {
  return checked(array(inner, low, high), (items) => {
    const keys = items.map(key);
    if (keys.some((each, at) => at && compare(keys[at - 1]!, each) >= 0)) {
      throw new InvalidValue("items must be in strictly ascending order");
    }
  });
}

/** SHA-256 of the parts one after the other. */
export function digestOf(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return sha256(joined(...parts));
}
