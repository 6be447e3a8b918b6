/** Numbers modulo p = 2^255 − 19. Nothing here takes constant time. */

export const P = (1n << 255n) - 19n;

/** The rest of a number, from 0 to p − 1. */
export function rest(number: bigint): bigint {
  const found = number % P;
  return found < 0n ? found + P : found;
}

export function power(base: bigint, exponent: bigint): bigint {
  let found = 1n;
  for (; exponent; exponent >>= 1n) {
    if (exponent & 1n) found = (found * base) % P;
    base = (base * base) % P;
  }
  return found;
}

/** 1/number; 0 for 0. */
export function inverse(number: bigint): bigint {
  return power(rest(number), P - 2n);
}

export const ROOT_OF_MINUS_ONE = power(2n, (P - 1n) / 4n);

/** A root of u/v that is even; null where there is none (RFC 8032, section 5.1.3). */
export function rootOfRatio(u: bigint, v: bigint): bigint | null {
  const cube = rest(v * v * v);
  const found = rest(u * cube * power(rest(u * cube * cube * v), (P - 5n) / 8n));
  const square = rest(v * found * found);
  const [above, below] = [rest(u), rest(-u)];
  const root = square === above ? found : square === below ? rest(found * ROOT_OF_MINUS_ONE) : null;
  return root !== null && root & 1n ? P - root : root;
}
