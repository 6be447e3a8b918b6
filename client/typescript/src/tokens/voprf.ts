/** The device's half of VOPRF(ristretto255, SHA-512), RFC 9497 in its verifiable mode, of one element. */

import { joined, littleEndian, toBigEndian } from "../bytes.ts";
import { BASE, combined, ORDER, type Point } from "../curve/edwards.ts";
import { decodedElement, encodedElement, fromUniform, isIdentity } from "../curve/ristretto.ts";
import { sha512 } from "../curve/sha512.ts";
import { InvalidValue } from "../errors.ts";
import type { Randomness } from "../randomizers/random.ts";

const TEXT = new TextEncoder();
const CONTEXT = "OPRFV1-\x01-ristretto255-SHA512";

/** A uniform scalar from 1 to the order − 1, by rejection of numbers of 253 bits. */
export function drawScalar(random: Randomness): bigint {
  for (;;) {
    const scalar = littleEndian(random.bytes(32)) & ((1n << 253n) - 1n);
    if (scalar > 0n && scalar < ORDER) return scalar;
  }
}

/** The blinded element of a secret (section 3.3.1). */
export function blinded(secret: Uint8Array, scalar: bigint): Uint8Array<ArrayBuffer> {
  return encodedElement(combined([scalar, hashToGroup(secret)]));
}

/** The output of a secret, 64 bytes, once the proof holds for the public key; throws InvalidValue (section 3.3.2). */
export function finalize(
  secret: Uint8Array,
  scalar: bigint,
  { evaluated, proof }: { evaluated: Uint8Array; proof: Uint8Array },
  publicKey: Uint8Array,
): Uint8Array {
  const point = combined([scalar, hashToGroup(secret)]);
  const answer = element(evaluated, "an evaluated element");
  verify(publicKey, point, answer, evaluated, proof);
  const unblinded = encodedElement(combined([inverse(scalar), answer]));
  return sha512(joined(withLength(secret), withLength(unblinded), TEXT.encode("Finalize")));
}

/** Throws InvalidValue unless one key made its own public half and the answer (section 2.2.2). */
function verify(publicKey: Uint8Array, point: Point, answer: Point, evaluated: Uint8Array, proof: Uint8Array): void {
  const key = element(publicKey, "an issuer's public key");
  const [c, s] = [littleEndian(proof.subarray(0, 32)), littleEndian(proof.subarray(32))];
  if (proof.length !== 64 || c >= ORDER || s >= ORDER) throw new InvalidValue("the issuer's proof is not two scalars");
  const weight = weightOf(publicKey, encodedElement(point), evaluated);
  const [m, z] = [combined([weight, point]), combined([weight, answer])];
  const [t2, t3] = [combined([s, BASE], [c, key]), combined([s, m], [c, z])];
  const parts = [publicKey, ...[m, z, t2, t3].map(encodedElement)].map(withLength);
  if (c !== hashToScalar(joined(...parts, TEXT.encode("Challenge")))) {
    throw new InvalidValue("the issuer's proof does not hold for its key");
  }
}

/** By which the one element of a batch is multiplied. */
function weightOf(publicKey: Uint8Array, first: Uint8Array, second: Uint8Array): bigint {
  const seed = sha512(joined(withLength(publicKey), withLength(TEXT.encode(`Seed-${CONTEXT}`))));
  const place = toBigEndian(0n, 2);
  return hashToScalar(joined(withLength(seed), place, withLength(first), withLength(second), TEXT.encode("Composite")));
}

function hashToGroup(content: Uint8Array): Point {
  const point = fromUniform(expanded(content, `HashToGroup-${CONTEXT}`));
  if (isIdentity(point)) throw new InvalidValue("this secret hashes to the identity; draw another");
  return point;
}

function hashToScalar(content: Uint8Array): bigint {
  return littleEndian(expanded(content, `HashToScalar-${CONTEXT}`)) % ORDER;
}

/** 64 uniform bytes: expand_message_xmd of RFC 9380, section 5.3.1, whose output is one block of SHA-512. */
function expanded(content: Uint8Array, tag: string): Uint8Array {
  const suffix = joined(TEXT.encode(tag), Uint8Array.of(tag.length));
  const first = sha512(joined(new Uint8Array(128), content, Uint8Array.of(0, 64, 0), suffix));
  return sha512(joined(first, Uint8Array.of(1), suffix));
}

function element(encoded: Uint8Array, what: string): Point {
  const point = decodedElement(encoded);
  if (!point) throw new InvalidValue(`${what} is 32 bytes of ristretto255 and not the identity`);
  return point;
}

function inverse(scalar: bigint): bigint {
  let [found, base] = [1n, scalar];
  for (let exponent = ORDER - 2n; exponent; exponent >>= 1n) {
    if (exponent & 1n) found = (found * base) % ORDER;
    base = (base * base) % ORDER;
  }
  return found;
}

function withLength(content: Uint8Array): Uint8Array {
  return joined(toBigEndian(BigInt(content.length), 2), content);
}
