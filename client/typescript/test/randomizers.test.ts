/** Laws in integers: directions, ε, types of dithered numbers, and the law of every small randomizer. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { bytesOf, DOCUMENTS, vectors } from "./vectors.ts";
import { toHex } from "../src/bytes.ts";
import { Dithered } from "../src/randomizers/dithered.ts";
import { direction } from "../src/randomizers/directions/directions.ts";
import { shake } from "../src/randomizers/keccak.ts";
import { epsilonOfRatio, expLowerBound } from "../src/randomizers/epsilon.ts";
import { drawBelow, drawBits, type Randomness, SystemRandomness } from "../src/randomizers/random.ts";
import type { DevicePart } from "../src/documents/part.ts";
import { RandomizedResponse } from "../src/randomizers/randomized_response.ts";
import { sha256 } from "../src/sha256.ts";

/** Bytes of a test, in order; all of them have to be taken, and no more. */
class Words implements Randomness {
  left: Uint8Array[];

  constructor(...words: Uint8Array[]) {
    this.left = words;
  }

  bytes(): Uint8Array {
    const word = this.left.shift();
    assert.ok(word, "more bytes are drawn than given");
    return word;
  }
}

test("SHA-256 and SHAKE-128 are node's", () => {
  for (const length of [0, 1, 55, 56, 63, 64, 119, 120, 167, 168, 169, 336, 5000]) {
    const content = Uint8Array.from({ length }, (_, at) => (7 * at) & 255);
    assert.equal(toHex(sha256(content)), createHash("sha256").update(content).digest("hex"));
    const expected = createHash("shake128", { outputLength: length + 1 }).update(content).digest("hex");
    assert.equal(toHex(shake(128, content, length + 1)), expected);
  }
});

test("directions", () => {
  for (const each of vectors("good/directions").vectors) {
    const found = direction(bytesOf(each.seed), each.dimension);
    assert.deepEqual([...found.slice(0, each.head.length)], each.head);
    assert.equal(toHex(sha256(new Uint8Array(found.buffer))), each.sha256_of_int16_little_endian);
  }
});

test("ε", () => {
  const { exp_lower_bounds, ratios } = vectors("good/epsilon");
  for (const { nano_epsilon, bits, value } of exp_lower_bounds) {
    assert.equal(expLowerBound(BigInt(nano_epsilon), BigInt(bits)), BigInt(value));
  }
  for (const { numerator, denominator, nano_epsilon } of ratios) {
    const found = epsilonOfRatio([BigInt(numerator), BigInt(denominator)]);
    assert.equal(found, nano_epsilon === null ? null : BigInt(nano_epsilon));
  }
});

test("randomizers", () => {
  const parts = new Map(vectors("good/device_part").vectors.map((each: any) => [each.name, each.hex]));
  for (const each of vectors("good/randomizers").vectors) {
    const part: DevicePart = DOCUMENTS["device_part"]!.read(bytesOf(parts.get(each.name) as string));
    assert.equal(part.randomizer.payloadBytes, each.payload_bytes);
    const ratio = part.randomizer.likelihoodRatio()!;
    const [numerator, denominator] = each.likelihood_ratio.map(BigInt);
    assert.equal(ratio[0] * denominator, ratio[1] * numerator, each.name);
    assert.equal(part.prove(), BigInt(each.nano_epsilon), each.name);
  }
});

test("dithered numbers", () => {
  for (const { knots, members, draws } of vectors("good/dithered").vectors) {
    const places = knots.map(BigInt);
    const size = knots.length + Number(BigInt(members) - 1n - places.at(-1));
    const inner = new RandomizedResponse({ size, bits: 60, otherWeight: 1n });
    const found = new Dithered({ knots: [places], inner });
    for (const { member, drawn, type } of draws) {
      const words = drawn === null ? [] : [word(BigInt(drawn))];
      // A word of zeros draws the type itself.
      const random = new Words(...words, new Uint8Array(8));
      assert.deepEqual([...found.randomize([BigInt(member)], [BigInt(members)], random)], [type]);
      assert.equal(random.left.length, 0);
    }
  }
});

test("one round, word by word", () => {
  const { steps, documents } = vectors("good/trace");
  const part: DevicePart = DOCUMENTS["device_part"]!.read(bytesOf(documents.device_part.hex));
  const codes = part.domain.codes(steps.value);
  assert.equal(part.prove(), BigInt(steps.proved_nano));
  assert.equal(toHex(part.randomize(codes, new Words(bytesOf(steps.word)))), steps.payload);
});

test("no word is wasted, and none is taken twice", () => {
  const random = new SystemRandomness();
  const seen = new Set(Array.from({ length: 4000 }, () => toHex(random.bytes(8))));
  assert.equal(seen.size, 4000);
  assert.throws(() => random.bytes(5000));
  assert.equal(drawBits(new Words(bytesOf("0123456789abcde7")), 60), 1043949699976155696n);
  // The last multiple of 3 is 2^64 − 1: that word is drawn again.
  assert.equal(drawBelow(new Words(bytesOf("ffffffffffffffff"), word(5n)), 3n), 2n);
});

test("Math.random is never asked", () => {
  const asked = Math.random;
  Math.random = () => assert.fail("Math.random");
  try {
    for (const { hex } of vectors("good/device_part").vectors) {
      const part: DevicePart = DOCUMENTS["device_part"]!.read(bytesOf(hex));
      part.randomize(part.domain.codes(null), new SystemRandomness());
    }
  } finally {
    Math.random = asked;
  }
});

function word(number: bigint): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, number, true);
  return bytes;
}
