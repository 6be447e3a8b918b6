/**
 * Ed25519 (RFC 8032) by the one rule of the protocol: S < L; A and R are canonical encodings of points of which neither is
 * of small order; S·B = R + k·A without a factor of 8. WebCrypto's rule differs between browsers, and has to be waited for.
 */

import { joined, littleEndian, sameBytes } from "../bytes.ts";
import { BASE, combined, decoded, encoded, hasSmallOrder, negative, ORDER } from "./edwards.ts";
import { sha512 } from "./sha512.ts";

/** Whether `signature` (64 bytes) is one of the message by the public key (32 bytes). */
export function verify(key: Uint8Array, signature: Uint8Array, message: Uint8Array): boolean {
  if (key.length !== 32 || signature.length !== 64) return false;
  const [first, s, point] = [signature.subarray(0, 32), littleEndian(signature.subarray(32)), decoded(key)];
  if (s >= ORDER || !point || hasSmallOrder(point)) return false;
  const k = littleEndian(sha512(joined(first, key, message))) % ORDER;
  const found = combined([s, BASE], [k, negative(point)]);
  // The encoding of a point is canonical, so R is compared without being decoded.
  return sameBytes(encoded(found), first) && !hasSmallOrder(found);
}
