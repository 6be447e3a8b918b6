/** HMAC and HKDF with SHA-256 (RFC 2104, RFC 5869). */

import { joined } from "../bytes.ts";
import { digestOf } from "../documents/document.ts";

const BLOCK = 64;

export function hmac(key: Uint8Array, ...parts: readonly Uint8Array[]): Uint8Array {
  const padded = new Uint8Array(BLOCK);
  padded.set(key.length > BLOCK ? digestOf(key) : key);
  const [inner, outer] = [0x36, 0x5c].map((pad) => padded.map((byte) => byte ^ pad));
  return digestOf(outer!, digestOf(inner!, ...parts));
}

/** `length` bytes, at most 32 of each step. */
export function expand(key: Uint8Array, info: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  let [found, last] = [new Uint8Array(), new Uint8Array() as Uint8Array];
  for (let step = 1; found.length < length; step++) {
    last = hmac(key, last, info, Uint8Array.of(step));
    found = joined(found, last);
  }
  return found.slice(0, length);
}
