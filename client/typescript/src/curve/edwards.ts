/** The curve of Ed25519: −x² + y² = 1 + d·x²·y². Points are (X, Y, Z, T) with x = X/Z, y = Y/Z, T = XY/Z. */

import { littleEndian, toLittleEndian } from "../bytes.ts";
import { inverse, P, rest, rootOfRatio } from "./field.ts";

/** The order of the base point. */
export const ORDER = (1n << 252n) + 27742317777372353535851937790883648493n;
export const D = rest(-121665n * inverse(121666n));
export type Point = readonly [bigint, bigint, bigint, bigint];
export const NEUTRAL: Point = [0n, 1n, 1n, 0n];

/** Complete: for all points (Hisil, Wong, Carter and Dawson 2008). */
export function sum([x1, y1, z1, t1]: Point, [x2, y2, z2, t2]: Point): Point {
  const a = ((y1 - x1) * (y2 - x2)) % P;
  const b = ((y1 + x1) * (y2 + x2)) % P;
  const c = (((2n * D * t1) % P) * t2) % P;
  const d = (2n * z1 * z2) % P;
  const [e, f, g, h] = [b - a, d - c, d + c, b + a];
  return [(e * f) % P, (g * h) % P, (f * g) % P, (e * h) % P];
}

export function negative([x, y, z, t]: Point): Point {
  return [-x, y, z, -t];
}

/** The sum of each point times its number (Straus 1964): one doubling for each bit of the largest. */
export function combined(...terms: readonly (readonly [bigint, Point])[]): Point {
  const bits = Math.max(0, ...terms.map(([number]) => number.toString(2).length));
  let found = NEUTRAL;
  for (let bit = BigInt(bits) - 1n; bit >= 0n; bit--) {
    found = sum(found, found);
    for (const [number, point] of terms) if ((number >> bit) & 1n) found = sum(found, point);
  }
  return found;
}

/** Whether eight times the point is the neutral one. */
export function hasSmallOrder(point: Point): boolean {
  const [x, y, z] = combined([8n, point]);
  return rest(x) === 0n && rest(y - z) === 0n;
}

/** The point of a canonical encoding; null for any other 32 bytes. */
export function decoded(encoded: Uint8Array): Point | null {
  const number = littleEndian(encoded);
  const [y, sign] = [number & ((1n << 255n) - 1n), number >> 255n];
  const root = y < P ? rootOfRatio(y * y - 1n, D * y * y + 1n) : null;
  if (root === null || (root === 0n && sign)) return null;
  const x = sign ? P - root : root;
  return [x, y, 1n, (x * y) % P];
}

export function encoded([x, y, z]: Point): Uint8Array<ArrayBuffer> {
  const inverted = inverse(z);
  return toLittleEndian(rest(y * inverted) | ((rest(x * inverted) & 1n) << 255n), 32);
}

export const BASE = decoded(toLittleEndian(rest(4n * inverse(5n)), 32))!;
