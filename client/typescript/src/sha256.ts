/** SHA-256 (FIPS 180-4), synchronous: WebCrypto's is not, and hashed values are found inside a transaction. */

const ROUND = constants(64, 3);
const START = constants(8, 2);

/** The digest of the bytes. */
export function sha256(content: Uint8Array): Uint8Array<ArrayBuffer> {
  const state = new Uint32Array(START);
  const words = new Uint32Array(64);
  const tail = padding(content);
  const whole = content.length - (content.length % 64);
  for (let at = 0; at < whole; at += 64) mix(state, words, content, at);
  for (let at = 0; at < tail.length; at += 64) mix(state, words, tail, at);
  const digest = new Uint8Array(32);
  const view = new DataView(digest.buffer);
  state.forEach((word, place) => view.setUint32(4 * place, word));
  return digest;
}

/** The first 32 bits of the fractional parts of the square or cube roots of the first primes. */
function constants(count: number, root: 2 | 3): Uint32Array {
  const found = new Uint32Array(count);
  const primes: bigint[] = [];
  for (let number = 2n; primes.length < count; number++) {
    if (primes.every((prime) => number % prime !== 0n)) {
      found[primes.length] = Number(integerRoot(number << BigInt(32 * root), BigInt(root)) & 0xffffffffn);
      primes.push(number);
    }
  }
  return found;
}

function integerRoot(number: bigint, root: bigint): bigint {
  let found = 0n;
  for (let bit = 1n << 40n; bit; bit >>= 1n) {
    if ((found | bit) ** root <= number) found |= bit;
  }
  return found;
}

/** What follows the last whole block: the rest, 0x80, zeros and the length in bits. */
function padding(content: Uint8Array): Uint8Array {
  const rest = content.subarray(content.length - (content.length % 64));
  const tail = new Uint8Array(rest.length < 56 ? 64 : 128);
  tail.set(rest);
  tail[rest.length] = 0x80;
  new DataView(tail.buffer).setBigUint64(tail.length - 8, 8n * BigInt(content.length));
  return tail;
}

function mix(state: Uint32Array, words: Uint32Array, block: Uint8Array, start: number): void {
  for (let at = 0; at < 16; at++) {
    const byte = start + 4 * at;
    words[at] = (block[byte]! << 24) | (block[byte + 1]! << 16) | (block[byte + 2]! << 8) | block[byte + 3]!;
  }
  for (let at = 16; at < 64; at++) {
    const early = words[at - 15]!;
    const late = words[at - 2]!;
    const low = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3);
    const high = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10);
    words[at] = words[at - 16]! + low + words[at - 7]! + high;
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
  for (let at = 0; at < 64; at++) {
    const first =
      (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + ROUND[at]! + words[at]!) | 0;
    const second = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, place) => (state[place]! += word));
}

function turned(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}
