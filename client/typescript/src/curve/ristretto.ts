/** The group ristretto255 (RFC 9496): prime order, one encoding for each element, a map from hashes. */

import { littleEndian, toLittleEndian } from "../bytes.ts";
import { D, NEUTRAL, type Point, sum } from "./edwards.ts";
import { P, power, rest, ROOT_OF_MINUS_ONE } from "./field.ts";

export const ELEMENT_BYTES = 32;
const SQRT_AD_MINUS_ONE = 25063068953384623474111414158702152701244531502492656460079210482610430750235n;
const INVSQRT_A_MINUS_D = 54469307008909316920995813868745141605393597292927456921205312896311721017578n;
const ONE_MINUS_D_SQ = rest(1n - D * D);
const D_MINUS_ONE_SQ = rest((D - 1n) ** 2n);
const LOW_255 = (1n << 255n) - 1n;

/** The element that 32 bytes encode; null for any other bytes, and for the identity (section 4.3.1). */
export function decodedElement(encoded: Uint8Array): Point | null {
  const s = littleEndian(encoded);
  if (encoded.length !== ELEMENT_BYTES || s >= P || s & 1n || s === 0n) return null;
  const square = (s * s) % P;
  const [u1, u2] = [1n - square, 1n + square];
  const v = rest(-D * u1 * u1 - u2 * u2);
  const [wasSquare, root] = sqrtRatio(1n, rest(v * u2 * u2));
  const x = even(rest(2n * s * root * u2));
  const y = rest(rest(u1 * root) * rest(root * u2) * v);
  const t = (x * y) % P;
  return !wasSquare || t & 1n || y === 0n ? null : [x, y, 1n, t];
}

/** The 32 bytes of an element, whichever of its coordinates these are (section 4.3.2). */
export function encodedElement([x, y, z, t]: Point): Uint8Array<ArrayBuffer> {
  const [u1, u2] = [rest((z + y) * (z - y)), rest(x * y)];
  const [, root] = sqrtRatio(1n, rest(u1 * rest(u2 * u2)));
  const [den1, den2] = [rest(root * u1), rest(root * u2)];
  const inverse = rest(rest(den1 * den2) * t);
  const isTurned = Boolean(rest(t * inverse) & 1n);
  const [a, b] = isTurned ? [y * ROOT_OF_MINUS_ONE, x * ROOT_OF_MINUS_ONE] : [x, y];
  const den = isTurned ? rest(den1 * INVSQRT_A_MINUS_D) : den2;
  const c = rest(rest(a) * inverse) & 1n ? -b : b;
  return toLittleEndian(even(rest(den * rest(z - c))), ELEMENT_BYTES);
}

/** The element of 64 uniform bytes: the sum of two maps (section 4.3.4). */
export function fromUniform(uniform: Uint8Array): Point {
  const [first, second] = [uniform.subarray(0, 32), uniform.subarray(32)].map((half) => littleEndian(half) & LOW_255);
  return sum(mapped(first!), mapped(second!));
}

/** Whether both are one element (section 4.3.3). */
export function isSame([x1, y1]: Point, [x2, y2]: Point): boolean {
  return rest(x1 * y2 - y1 * x2) === 0n || rest(y1 * y2 - x1 * x2) === 0n;
}

export function isIdentity(point: Point): boolean {
  return isSame(point, NEUTRAL);
}

/** Elligator 2 on the Jacobi quartic (section 4.3.4). */
function mapped(t: bigint): Point {
  const r = rest(ROOT_OF_MINUS_ONE * rest(t * t));
  const u = rest((r + 1n) * ONE_MINUS_D_SQ);
  const v = rest((-1n - r * D) * (r + D));
  let [wasSquare, s] = sqrtRatio(u, v);
  if (!wasSquare) s = rest(-even(rest(s * t)));
  const n = rest((wasSquare ? -1n : r) * (r - 1n) * D_MINUS_ONE_SQ - v);
  const [w0, w1, w2, w3] = [rest(2n * s * v), rest(n * SQRT_AD_MINUS_ONE), rest(1n - s * s), rest(1n + s * s)];
  return [rest(w0 * w3), rest(w2 * w1), rest(w1 * w3), rest(w0 * w2)];
}

/** Whether u/v is a square, and the even root of u/v or else of √−1·u/v (section 4.2). */
function sqrtRatio(u: bigint, v: bigint): [boolean, bigint] {
  const cube = rest(v * v * v);
  let root = rest(u * cube * power(rest(u * cube * rest(cube * v)), (P - 5n) / 8n));
  const check = rest(v * rest(root * root));
  const isFlipped = check === rest(-u);
  if (isFlipped || check === rest(-u * ROOT_OF_MINUS_ONE)) root = rest(root * ROOT_OF_MINUS_ONE);
  return [check === rest(u) || isFlipped, even(root)];
}

/** The even one of a number and its negative. */
function even(number: bigint): bigint {
  return number & 1n ? P - number : number;
}
