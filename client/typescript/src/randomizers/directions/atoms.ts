/**
 * The atoms of directions: the positive half of a standard normal, cut into 32,768 bins of equal chance; an atom is its
 * bin's mean times 4096, rounded, at least 1.
 *
 * They are computed in doubles, and used only if their SHA-256 is the one of docs/protocol.md: no product lies within
 * 10⁻⁵ of a half, and errors are below 10⁻⁷.
 */

import { toHex } from "../../bytes.ts";
import { SordinoError } from "../../errors.ts";
import { sha256 } from "../../sha256.ts";

const HALF = 32_768;
const SHA256 = "d77597638cb9ccfab3e194fad2405b422e480da447b4b1c1cf66311b4608c6bd";
let kept: Int16Array | null = null;

/** The atoms; made at the first direction, for most devices draw none. */
export function atoms(): Int16Array {
  kept ??= computed();
  return kept;
}

function computed(): Int16Array {
  const found = new Int16Array(HALF);
  let quantile = 0;
  let below = density(0);
  for (let bin = 0; bin < HALF; bin++) {
    quantile = nextQuantile(quantile, (bin + 1) / 65_536);
    const above = bin + 1 < HALF ? density(quantile) : 0;
    found[bin] = Math.max(1, Math.round(4096 * 65_536 * (below - above)));
    below = above;
  }
  const bytes = new Uint8Array(2 * HALF);
  found.forEach((atom, at) => new DataView(bytes.buffer).setInt16(2 * at, atom, true));
  if (toHex(sha256(bytes)) !== SHA256) {
    throw new SordinoError("wrong-atoms", "this engine computes other atoms than the protocol's: its doubles are off");
  }
  return found;
}

/** z with Φ(z) = ½ + share, by Newton's method from the quantile of the bin before. */
function nextQuantile(from: number, share: number): number {
  let quantile = from;
  for (let step = 0; step < 8 && share < 0.5; step++) {
    const error = mass(quantile) - share;
    quantile -= error / density(quantile);
    if (Math.abs(error) < 1e-15) break;
  }
  return quantile;
}

/** Φ(z) − ½ = φ(z)·(z + z³/3 + z⁵/15 + …), a series of positive terms. */
function mass(quantile: number): number {
  let term = quantile;
  let sum = 0;
  for (let odd = 3; sum + term > sum; odd += 2) {
    sum += term;
    term *= (quantile * quantile) / odd;
  }
  return sum * density(quantile);
}

function density(at: number): number {
  return Math.exp(-0.5 * at * at) / Math.sqrt(2 * Math.PI);
}
