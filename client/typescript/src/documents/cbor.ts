/**
 * Canonical CBOR (RFC 8949, section 4.2.1), strictly: a value has one encoding, and no other bytes are read.
 *
 * A first pass checks all bytes and builds nothing; a second one builds what it passed. So a declared length, the number
 * of items and the depth are held against their limits before anything is allocated.
 */

import { compareBytes, joined, toBigEndian, utf8 } from "../bytes.ts";
import { MalformedDocument, OversizedDocument } from "../errors.ts";

/** A float on the wire; a class of its own, since integers are another type there. */
export class Float {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** What a document is made of. Integers are `bigint`. */
export type Plain = bigint | Float | string | Uint8Array | boolean | null | Plain[] | PlainMap;
export type PlainMap = Map<string, Plain>;

const MAX_DEPTH = 16;
const BYTES = 2;
const TEXT = 3;
const ARRAY = 4;
const MAP = 5;
const TAG = 6;
const SIMPLE = 7;
const CONSTANTS = new Map<number, boolean | null>([[20, false], [21, true], [22, null]]);
const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The value of canonical bytes; throws OversizedDocument or MalformedDocument. */
export function decode(content: Uint8Array, limit: number, maxItems: number): Plain {
  if (content.length > limit) throw new OversizedDocument(content.length, limit);
  const checking = new Cursor(content, maxItems);
  checking.check(0);
  if (checking.position !== content.length) throw checking.malformed("bytes follow the document");
  return new Cursor(content, maxItems).built();
}

/** A place in the bytes; `check` goes on to the end of an item that is canonical, `built` makes it. */
class Cursor {
  position = 0;
  private readonly content: Uint8Array;
  private readonly view: DataView;
  private items: number;

  constructor(content: Uint8Array, maxItems: number) {
    this.content = content;
    this.view = new DataView(content.buffer, content.byteOffset, content.byteLength);
    this.items = maxItems;
  }

  malformed(reason: string): MalformedDocument {
    return new MalformedDocument(`not canonical CBOR at byte ${this.position}: ${reason}`);
  }

  check(depth: number): void {
    if (--this.items < 0) throw this.malformed("the document has too many items");
    const [kind, info] = this.head();
    if (kind === SIMPLE) return this.checkSimple(info);
    const argument = this.argument(info, kind);
    if (kind === BYTES) this.skip(argument);
    if (kind === TEXT) this.checkText(argument);
    if (kind === TAG) throw this.malformed("tags are not part of the protocol");
    if (kind === ARRAY || kind === MAP) this.checkContainer(kind, argument, depth);
  }

  built(): Plain {
    const [kind, info] = this.head();
    if (kind === SIMPLE) return CONSTANTS.has(info) ? CONSTANTS.get(info)! : new Float(this.float(info));
    const argument = this.argument(info, kind);
    const count = Number(argument);
    switch (kind) {
      case BYTES:
        return this.skip(argument).slice();
      case TEXT:
        return DECODER.decode(this.skip(argument));
      case ARRAY:
        return Array.from({ length: count }, () => this.built());
      case MAP:
        return new Map(Array.from({ length: count }, () => [this.built() as string, this.built()] as const));
      default:
        return kind ? -1n - argument : argument;
    }
  }

  private head(): [number, number] {
    const first = this.skip(1n)[0]!;
    return [first >> 5, first & 31];
  }

  private skip(count: bigint): Uint8Array {
    const left = this.content.length - this.position;
    if (count > BigInt(left)) throw this.malformed(`${count} bytes declared, ${left} left`);
    const start = this.position;
    this.position += Number(count);
    return this.content.subarray(start, this.position);
  }

  private argument(info: number, kind: number): bigint {
    if (info < 24) return BigInt(info);
    if (info > 27) throw this.malformed("indefinite lengths and reserved heads are not part of the protocol");
    const width = 1 << (info - 24);
    let argument = 0n;
    for (const byte of this.skip(BigInt(width))) argument = (argument << 8n) | BigInt(byte);
    const least = width === 1 ? 24n : 1n << BigInt(4 * width);
    if (argument < least) throw this.malformed("an integer or length is not in its shortest form");
    if (kind === 1 && argument >> 63n) throw this.malformed("negative integers must fit 64 bits");
    return argument;
  }

  private checkSimple(info: number): void {
    if (CONSTANTS.has(info)) return;
    if (info < 25 || info > 27) throw this.malformed("other simple values are not part of the protocol");
    const value = this.float(info);
    if (!isPlainFloat(value)) throw this.malformed("numbers must be finite, and zero has no sign");
    if (floatInfo(value) !== info) throw this.malformed("a number is not in its shortest form");
  }

  private float(info: number): number {
    const start = this.position;
    this.skip(BigInt(1 << (info - 24)));
    if (info === 25) return halfValue(this.view.getUint16(start));
    return info === 26 ? this.view.getFloat32(start) : this.view.getFloat64(start);
  }

  private checkText(length: bigint): void {
    const bytes = this.skip(length);
    try {
      DECODER.decode(bytes);
    } catch {
      throw this.malformed("text must be UTF-8");
    }
  }

  private checkContainer(kind: number, count: bigint, depth: number): void {
    if (depth >= MAX_DEPTH) throw this.malformed(`nested deeper than ${MAX_DEPTH}`);
    const left = this.content.length - this.position;
    if (count > BigInt(left)) throw this.malformed(`${count} items declared, ${left} bytes left`);
    if (kind === ARRAY) for (let at = 0n; at < count; at++) this.check(depth + 1);
    else this.checkMap(count, depth);
  }

  private checkMap(count: bigint, depth: number): void {
    let previous: Uint8Array = new Uint8Array();
    for (let at = 0n; at < count; at++) {
      const start = this.position;
      if (this.content[start]! >> 5 !== TEXT) throw this.malformed("keys must be text");
      this.check(depth + 1);
      const key = this.content.subarray(start, this.position);
      if (compareBytes(key, previous) <= 0) throw this.malformed("a key is out of order or occurs twice");
      previous = key;
      this.check(depth + 1);
    }
  }
}

/** The canonical bytes of a value; throws MalformedDocument for what has none. */
export function encode(value: Plain, depth = 0): Uint8Array<ArrayBuffer> {
  if (typeof value === "bigint") return value < 0n ? head(1, -1n - value) : head(0, value);
  if (typeof value === "string") return encodedText(value);
  if (typeof value === "boolean") return Uint8Array.of(value ? 0xf5 : 0xf4);
  if (value === null) return Uint8Array.of(0xf6);
  if (value instanceof Uint8Array) return joined(head(BYTES, BigInt(value.length)), value);
  if (value instanceof Float) return encodedFloat(value.value);
  if (depth >= MAX_DEPTH) throw new MalformedDocument(`nested deeper than ${MAX_DEPTH}`);
  if (Array.isArray(value)) {
    return joined(head(ARRAY, BigInt(value.length)), ...value.map((item) => encode(item, depth + 1)));
  }
  const pairs = [...value].map(([name, item]) => [encodedText(name), encode(item, depth + 1)] as const);
  pairs.sort(([first], [second]) => compareBytes(first, second));
  return joined(head(MAP, BigInt(value.size)), ...pairs.flat());
}

function encodedText(text: string): Uint8Array<ArrayBuffer> {
  const bytes = utf8(text);
  if (!bytes) throw new MalformedDocument("text must be encodable as UTF-8");
  return joined(head(TEXT, BigInt(bytes.length)), bytes);
}

function head(kind: number, argument: bigint): Uint8Array<ArrayBuffer> {
  if (argument < 24n) return Uint8Array.of((kind << 5) | Number(argument));
  const width = [1, 2, 4, 8].find((bytes) => argument >> BigInt(8 * bytes) === 0n);
  if (width === undefined || (kind === 1 && argument >> 63n)) throw new MalformedDocument("integers must fit 64 bits");
  return joined(Uint8Array.of((kind << 5) | (24 + Math.log2(width))), toBigEndian(argument, width));
}

function encodedFloat(value: number): Uint8Array<ArrayBuffer> {
  if (!isPlainFloat(value)) throw new MalformedDocument("numbers must be finite, and zero has no sign");
  const info = floatInfo(value);
  const bytes = new Uint8Array(1 + (1 << (info - 24)));
  const view = new DataView(bytes.buffer);
  bytes[0] = (SIMPLE << 5) | info;
  if (info === 25) view.setUint16(1, halfBits(value)!);
  else if (info === 26) view.setFloat32(1, value);
  else view.setFloat64(1, value);
  return bytes;
}

function isPlainFloat(value: number): boolean {
  return Number.isFinite(value) && !Object.is(value, -0);
}

/** 25, 26 or 27: the shortest format that holds a value exactly. */
function floatInfo(value: number): number {
  if (halfBits(value) !== null) return 25;
  return Math.fround(value) === value ? 26 : 27;
}

/** The value of 16 bits: a sign, 5 bits of exponent, 10 of fraction. */
function halfValue(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 0x3ff;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
}

/** The 16 bits that hold a finite value: as many steps of 1,024 as it was halved, and what is left; null where none do. */
function halfBits(value: number): number | null {
  let steps = 0;
  let left = Math.abs(value) * 2 ** 24;
  // No half is larger, and halving would not end at infinity.
  for (; left >= 2048 && steps < 30; steps++) left /= 2;
  if (steps > 29 || !Number.isInteger(left)) return null;
  return (value < 0 ? 0x8000 : 0) + 1024 * steps + left;
}
