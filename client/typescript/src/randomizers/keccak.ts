/** SHAKE (FIPS 202): bytes of any length from a short input. */

const ROUNDS = 24;
const MASK = (1n << 64n) - 1n;
const [CONSTANTS, TURNS] = tables();

/** The first `count` bytes of SHAKE-128 or SHAKE-256 of the input. */
export function shake(bits: 128 | 256, input: Uint8Array, count: number): Uint8Array<ArrayBuffer> {
  const rate = 200 - bits / 4;
  const state = new BigUint64Array(25);
  const padded = new Uint8Array(input.length - (input.length % rate) + rate);
  padded.set(input);
  padded[input.length]! ^= 0x1f;
  padded[padded.length - 1]! ^= 0x80;
  const view = new DataView(padded.buffer);
  for (let block = 0; block < padded.length; block += rate) {
    for (let at = 0; at < rate / 8; at++) state[at]! ^= view.getBigUint64(block + 8 * at, true);
    permute(state);
  }
  return squeezed(state, rate, count);
}

function squeezed(state: BigUint64Array, rate: number, count: number): Uint8Array<ArrayBuffer> {
  const found = new Uint8Array(Math.ceil(count / rate) * rate);
  const view = new DataView(found.buffer);
  for (let block = 0; block < found.length; block += rate) {
    if (block) permute(state);
    for (let at = 0; at < rate / 8; at++) view.setBigUint64(block + 8 * at, state[at]!, true);
  }
  return found.slice(0, count);
}

function permute(state: BigUint64Array): void {
  const parity = new BigUint64Array(5);
  const moved = new BigUint64Array(25);
  for (let round = 0; round < ROUNDS; round++) {
    for (let x = 0; x < 5; x++) {
      parity[x] = state[x]! ^ state[x + 5]! ^ state[x + 10]! ^ state[x + 15]! ^ state[x + 20]!;
    }
    for (let at = 0; at < 25; at++) {
      const x = at % 5;
      const y = (at - x) / 5;
      const lane = state[at]! ^ parity[(x + 4) % 5]! ^ turned(parity[(x + 1) % 5]!, 1n);
      moved[y + 5 * ((2 * x + 3 * y) % 5)] = turned(lane, TURNS[at]!);
    }
    for (let at = 0; at < 25; at++) {
      const row = at - (at % 5);
      state[at] = moved[at]! ^ (~moved[row + ((at + 1) % 5)]! & moved[row + ((at + 2) % 5)]!);
    }
    state[0]! ^= CONSTANTS[round]!;
  }
}

function turned(lane: bigint, by: bigint): bigint {
  return ((lane << by) | (lane >> (64n - by))) & MASK;
}

/** The constants of the rounds, from the register of FIPS 202 section 3.2.5, and the turns of the lanes. */
function tables(): [bigint[], bigint[]] {
  const constants: bigint[] = [];
  let register = 1;
  for (let round = 0; round < ROUNDS; round++) {
    let constant = 0n;
    for (let bit = 0; bit < 7; bit++) {
      if (register & 1) constant |= 1n << ((1n << BigInt(bit)) - 1n);
      register = (register << 1) ^ (register & 0x80 ? 0x171 : 0);
    }
    constants.push(constant);
  }
  const turns = new Array<bigint>(25).fill(0n);
  let [x, y] = [1, 0];
  for (let step = 0; step < 24; step++) {
    turns[x + 5 * y] = BigInt((((step + 1) * (step + 2)) / 2) % 64);
    [x, y] = [y, (2 * x + 3 * y) % 5];
  }
  return [constants, turns];
}
