/** SHA-512 (FIPS 180-4) in plain code: WebCrypto's cannot be waited for in a transaction of a ledger. */

const MASK = (1n << 64n) - 1n;

/** 64 bytes. */
export function sha512(content: Uint8Array): Uint8Array<ArrayBuffer> {
  const state = START.slice();
  const padded = new Uint8Array(128 * Math.ceil((content.length + 17) / 128));
  padded.set(content);
  padded[content.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, 8n * BigInt(content.length));
  for (let start = 0; start < padded.length; start += 128) mix(state, view, start);
  const digest = new Uint8Array(64);
  const written = new DataView(digest.buffer);
  state.forEach((word, place) => written.setBigUint64(8 * place, word));
  return digest;
}

function mix(state: bigint[], view: DataView, start: number): void {
  const words = Array.from({ length: 16 }, (_, at) => view.getBigUint64(start + 8 * at));
  for (let at = 16; at < 80; at++) {
    const [early, late] = [words[at - 15]!, words[at - 2]!];
    const low = turned(early, 1n) ^ turned(early, 8n) ^ (early >> 7n);
    const high = turned(late, 19n) ^ turned(late, 61n) ^ (late >> 6n);
    words.push((words[at - 16]! + low + words[at - 7]! + high) & MASK);
  }
  let [a, b, c, d, e, f, g, h] = state as [bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint];
  for (let at = 0; at < 80; at++) {
    const sigma = turned(e, 14n) ^ turned(e, 18n) ^ turned(e, 41n);
    const first = h + sigma + ((e & f) ^ ((e ^ MASK) & g)) + ROUND[at]! + words[at]!;
    const second = (turned(a, 28n) ^ turned(a, 34n) ^ turned(a, 39n)) + ((a & b) ^ (a & c) ^ (b & c));
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) & MASK, c, b, a, (first + second) & MASK];
  }
  [a, b, c, d, e, f, g, h].forEach((word, place) => (state[place] = (state[place]! + word) & MASK));
}

function turned(word: bigint, by: bigint): bigint {
  return (word >> by) | ((word << (64n - by)) & MASK);
}

/** The first 64 bits of the fractional parts of the square or cube roots of the first primes. */
function constants(count: number, root: bigint): bigint[] {
  const primes: bigint[] = [];
  for (let number = 2n; primes.length < count; number++) {
    if (primes.every((prime) => number % prime)) primes.push(number);
  }
  return primes.map((prime) => {
    let found = 0n;
    for (let bit = 1n << 70n; bit; bit >>= 1n) if ((found | bit) ** root <= prime << (64n * root)) found |= bit;
    return found & MASK;
  });
}

const START = constants(8, 2n);
const ROUND = constants(80, 3n);
