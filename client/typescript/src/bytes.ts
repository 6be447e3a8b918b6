/** Small operations on bytes that the rest is written with. */

/** The bytes one after the other. */
export function joined(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let start = 0;
  for (const part of parts) {
    whole.set(part, start);
    start += part.length;
  }
  return whole;
}

/** Below 0, 0 or above 0, as the first differing byte says; a beginning comes before what it begins. */
export function compareBytes(first: Uint8Array, second: Uint8Array): number {
  const shared = Math.min(first.length, second.length);
  for (let at = 0; at < shared; at++) {
    const difference = first[at]! - second[at]!;
    if (difference) return difference;
  }
  return first.length - second.length;
}

/** Whether both are the same bytes. */
export function sameBytes(first: Uint8Array, second: Uint8Array): boolean {
  return first.length === second.length && compareBytes(first, second) === 0;
}

/** Lower-case hexadecimal digits. */
export function toHex(bytes: Uint8Array): string {
  // Put together as bytes: a string of a MiB that grows digit by digit takes a second.
  const digits = new Uint8Array(2 * bytes.length);
  for (let at = 0; at < digits.length; at++) {
    const digit = at % 2 ? bytes[at >> 1]! & 15 : bytes[at >> 1]! >> 4;
    digits[at] = digit + (digit < 10 ? 48 : 87);
  }
  return new TextDecoder().decode(digits);
}

/** The bytes of hexadecimal digits, two for each. */
export function fromHex(digits: string): Uint8Array<ArrayBuffer> {
  // Codes of letters are above 64, and their lower four bits count from 1.
  const value = (at: number) => (digits.charCodeAt(at) & 15) + 9 * (digits.charCodeAt(at) >> 6);
  const bytes = new Uint8Array(digits.length / 2);
  for (let at = 0; at < bytes.length; at++) bytes[at] = 16 * value(2 * at) + value(2 * at + 1);
  return bytes;
}

/** The unsigned integer of bytes, the lowest first. */
export function littleEndian(bytes: Uint8Array): bigint {
  return bytes.length ? BigInt(`0x${toHex(bytes.slice().reverse())}`) : 0n;
}

/** The unsigned integer of bytes, the highest first. */
export function bigEndian(bytes: Uint8Array): bigint {
  return bytes.length ? BigInt(`0x${toHex(bytes)}`) : 0n;
}

/** `width` bytes of an unsigned integer, the lowest first. */
export function toLittleEndian(number: bigint, width: number): Uint8Array<ArrayBuffer> {
  return toBigEndian(number, width).reverse();
}

/** `width` bytes of an unsigned integer, the highest first. */
export function toBigEndian(number: bigint, width: number): Uint8Array<ArrayBuffer> {
  if (!width) return new Uint8Array();
  return fromHex(number.toString(16).padStart(2 * width, "0").slice(-2 * width));
}

/** UTF-8; null for text with a lone surrogate, which has none. */
export function utf8(text: string): Uint8Array<ArrayBuffer> | null {
  return /\p{Cs}/u.test(text) ? null : (new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>);
}

/** Bits of a whole number, 0 for 0. */
export function bitLength(number: bigint): number {
  return number ? number.toString(2).length : 0;
}

/** ε with every digit there is. */
export function decimal(nano: bigint): string {
  const rest = String(nano % 10n ** 9n).padStart(9, "0").replace(/0+$/, "");
  return `${nano / 10n ** 9n}${rest && `.${rest}`}`;
}
