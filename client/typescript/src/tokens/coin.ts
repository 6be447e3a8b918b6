/** The coin of a token: from it the public part of its report is drawn, by the device and again by the server. */

import { fromHex, joined, toBigEndian } from "../bytes.ts";
import { shake } from "../randomizers/keccak.ts";
import type { Randomness } from "../randomizers/random.ts";

export const SECRET_BYTES = 16;
const CONTEXT = new TextEncoder().encode("sordino coin v1\0");
const FIRST_BYTES = 256;

/** The bytes of SHAKE-256 of a seed, one after the other. */
class CoinStream implements Randomness {
  private readonly seed: Uint8Array;
  private stream = new Uint8Array();
  private drawn = 0;

  constructor(seed: Uint8Array) {
    this.seed = seed;
  }

  bytes(count: number): Uint8Array {
    const start = this.drawn;
    this.drawn += count;
    // The stream is made again from its start, so twice as long each time.
    if (this.drawn > this.stream.length) this.stream = shake(256, this.seed, Math.max(FIRST_BYTES, 2 * this.drawn));
    return this.stream.slice(start, this.drawn);
  }
}

/** A new stream of the token's coin, from its beginning. */
export function coinOf(campaign: string, round: number, digest: Uint8Array, token: Uint8Array): Randomness {
  const output = token.subarray(SECRET_BYTES);
  return new CoinStream(joined(CONTEXT, fromHex(campaign), toBigEndian(BigInt(round), 8), digest, output));
}
