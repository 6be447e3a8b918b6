/** The fields GF(2^r), r from 1 to 64: polynomials over F₂ modulo the least irreducible one of degree r. */

// The polynomial of GF(2^r) is x^r plus the one at place r − 1.
const LOW_PARTS = [
  1, 3, 3, 3, 5, 3, 3, 27, 3, 9, 5, 9, 27, 33, 3, 43, 9, 9, 39, 9, 5, 3, 33, 27, 9, 27, 39, 3, 5, 3, 9, 141, 75, 27, 5,
  53, 63, 99, 17, 57, 9, 39, 89, 33, 27, 3, 33, 45, 113, 29, 75, 9, 71, 125, 71, 149, 17, 99, 123, 3, 39, 105, 3, 27,
] as const;

/** The product a·b, in `degree` steps whatever the elements are: one of them is a device's value. */
export function multiply(first: bigint, second: bigint, degree: number): bigint {
  const mask = (1n << BigInt(degree)) - 1n;
  const low = BigInt(LOW_PARTS[degree - 1]!) & mask;
  const top = BigInt(degree - 1);
  let [result, power] = [0n, first];
  for (let at = 0n; at < BigInt(degree); at++) {
    result ^= power * ((second >> at) & 1n);
    power = ((power << 1n) & mask) ^ ((power >> top) * low);
  }
  return result;
}
