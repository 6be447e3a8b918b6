/** The one source of randomness: uniform bytes, and exact integer laws made of them by rejection. */

import { InvalidValue } from "../errors.ts";

/** Uniform bytes; a test may give those of its own. */
export interface Randomness {
  bytes(count: number): Uint8Array;
}

const POOL_BYTES = 4096;

/** The generator of the platform, through a pool whose bytes are zeroed once they are taken. Never `Math.random`. */
export class SystemRandomness implements Randomness {
  private readonly pool = new Uint8Array(POOL_BYTES);
  private used = POOL_BYTES;

  constructor() {
    if (typeof globalThis.crypto?.getRandomValues !== "function") {
      throw new InvalidValue("crypto.getRandomValues is missing: there is no other generator to draw from");
    }
  }

  bytes(count: number): Uint8Array {
    if (count > POOL_BYTES) throw new InvalidValue(`at most ${POOL_BYTES} bytes are drawn at once`);
    if (this.used + count > POOL_BYTES) {
      globalThis.crypto.getRandomValues(this.pool);
      this.used = 0;
    }
    const taken = this.pool.slice(this.used, this.used + count);
    this.pool.fill(0, this.used, this.used + count);
    this.used += count;
    return taken;
  }
}

/** A uniform integer below 2^bits, 1 to 64 of them: the upper bits of 8 bytes, little-endian. */
export function drawBits(random: Randomness, bits: number): bigint {
  const eight = random.bytes(8);
  return new DataView(eight.buffer, eight.byteOffset, 8).getBigUint64(0, true) >> BigInt(64 - bits);
}

/** A uniform integer below `bound`, exactly: words past the last multiple of the bound are drawn again. */
export function drawBelow(random: Randomness, bound: bigint): bigint {
  const end = ((1n << 64n) / bound) * bound;
  for (;;) {
    const word = drawBits(random, 64);
    if (word < end) return word % bound;
  }
}

/** The first place whose sum of weights is above the draw; all are added up, so that the time does not tell which. */
export function place(weights: Iterable<bigint>, draw: bigint): number {
  let sum = 0n;
  let found = 0;
  for (const weight of weights) {
    sum += weight;
    found += Number(sum <= draw);
  }
  return found;
}
