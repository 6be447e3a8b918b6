/** Tokens and their coins: every value of one token, and payloads whose public part the server can draw again. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { joined, littleEndian, toHex } from "../src/bytes.ts";
import { BASE, combined, NEUTRAL, ORDER } from "../src/curve/edwards.ts";
import { decodedElement, encodedElement, isIdentity } from "../src/curve/ristretto.ts";
import { devicePart } from "../src/documents/part.ts";
import * as errors from "../src/errors.ts";
import { cellCodes } from "../src/randomizers/randomizer.ts";
import { SystemRandomness } from "../src/randomizers/random.ts";
import { coinOf } from "../src/tokens/coin.ts";
import { blinded, drawScalar, finalize } from "../src/tokens/voprf.ts";
import { bytesOf, vectors } from "./vectors.ts";

test("a token is blinded and finalized as the vectors say, and a false proof is refused", () => {
  for (const each of vectors("good/tokens").vectors) {
    const [secret, scalar] = [bytesOf(each.secret), littleEndian(bytesOf(each.blind))];
    assert.equal(toHex(blinded(secret, scalar)), each.blinded);
    const [evaluated, proof, key] = [each.evaluated, each.proof, each.issuer_key].map(bytesOf);
    const output = finalize(secret, scalar, { evaluated: evaluated!, proof: proof! }, key!);
    assert.equal(toHex(output), each.output);
    assert.equal(toHex(joined(bytesOf(each.payload), secret, output.subarray(0, 16))), each.payload_with_token);
    const other = encodedElement(combined([7n, BASE]));
    const changed = proof!.map((byte, at) => byte ^ Number(at === 40));
    for (const [wrong, words] of [
      [{ evaluated: evaluated!, proof: changed }, /proof does not hold/],
      [{ evaluated: other, proof: proof! }, /proof does not hold/],
      [{ evaluated: new Uint8Array(32), proof: proof! }, /not the identity/],
      [{ evaluated: evaluated!, proof: new Uint8Array(64).fill(255) }, /not two scalars/],
    ] as const) {
      assert.throws(() => finalize(secret, scalar, wrong, key!), words);
    }
    assert.throws(() => finalize(secret, scalar, { evaluated: evaluated!, proof: proof! }, other), errors.InvalidValue);
  }
});

test("elements have one encoding each", () => {
  // RFC 9496, appendix A.1: multiples of the base, and A.3: bytes that are none.
  const second = "6a493210f7499cd17fecb510ae0cea23a110e8d5b901f8acadd3095c73a3b919";
  assert.equal(toHex(encodedElement(combined([2n, BASE]))), second);
  assert.equal(toHex(encodedElement(NEUTRAL)), "00".repeat(32));
  assert.ok(isIdentity(combined([ORDER, BASE])));
  for (const wrong of [
    "00".repeat(32),
    "00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "f3ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "26948d35ca62e643e26a83177332e6b6afeb9d08e4268b650f1f5bbd8d81d371",
    "3eb858e78f5a7254d8c9731174a94f76755fd3941c0ac93735c07ba14579630e",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  ]) {
    assert.equal(decodedElement(bytesOf(wrong)), null, wrong);
  }
  const random = new SystemRandomness();
  for (let at = 0; at < 5; at++) {
    const encoded = encodedElement(combined([drawScalar(random), BASE]));
    assert.equal(toHex(encodedElement(decodedElement(encoded)!)), toHex(encoded));
  }
});

test("what is public of a payload comes from the token's coin", () => {
  const parts = new Map(vectors("good/sampling").vectors.map((each: any) => [each.name, each.device_part]));
  for (const { sampling, campaign, round, device_part, token, coin, payloads } of vectors("good/coins").vectors) {
    const [digest, content] = [bytesOf(device_part), bytesOf(token)];
    const stream = () => coinOf(campaign, round, digest, content);
    assert.equal(toHex(stream().bytes(coin.length / 2)), coin);
    const part = devicePart.read(bytesOf(parts.get(sampling) as string));
    // The public part is in the payloads of the vectors; the rest is this generator's.
    const again = new Set<string>();
    for (let at = 0; at < 40; at++) {
      const codes = cellCodes(0n, part.domain.shape);
      again.add(toHex(part.randomize(codes, new SystemRandomness(), stream())));
    }
    for (const payload of again) assert.ok(payloads.includes(payload), `${sampling}: ${payload}`);
  }
});
