/** What must be read is read and written back; what must be refused is refused for its reason. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { decode, encode, Float } from "../src/documents/cbor.ts";
import { DevicePart } from "../src/documents/part.ts";
import * as errors from "../src/errors.ts";
import { sha256 } from "../src/sha256.ts";
import { fromHex, sameBytes, toHex } from "../src/bytes.ts";
import { bytesOf, DOCUMENTS, plain, vectors } from "./vectors.ts";

const ERRORS: Record<string, new (...given: any[]) => Error> = {
  malformed: errors.MalformedDocument,
  oversized: errors.OversizedDocument,
  unsupported_version: errors.UnsupportedVersion,
  digest_mismatch: errors.DigestMismatch,
  guarantee_not_met: errors.GuaranteeNotMet,
};
const BAD = ["bytes", "canonical", "digest", "guarantee", "oversized", "ranges", "schema", "values", "version"];

for (const [name, type] of Object.entries(DOCUMENTS)) {
  test(`good ${name}`, () => {
    for (const { hex, sha256: digest, meaning, name: which } of vectors(`good/${name}`).vectors) {
      const content = bytesOf(hex);
      assert.equal(toHex(sha256(content)), digest, which);
      const document = type.read(content, bytesOf(digest));
      assert.equal(toHex(type.write(document)), hex, which);
      assert.equal(toHex(encode(plain(meaning))), hex, which);
      if (document instanceof DevicePart) document.prove();
    }
  });
}

for (const group of BAD) {
  test(`bad ${group}`, () => {
    let tried = 0;
    for (const { name, read_as, error, hex, padding, sha256: digest } of vectors(`bad/${group}`).vectors) {
      const type = DOCUMENTS[read_as];
      // Documents of servers and analysts are none that a device reads.
      if (!type) continue;
      const content = bytesOf(hex + (padding ? padding.byte.repeat(padding.count) : ""));
      const read = () => {
        const document = type.read(content, digest && bytesOf(digest));
        if (document instanceof DevicePart) document.prove();
      };
      assert.throws(read, (thrown: Error) => thrown.constructor === ERRORS[error], `${name}: ${error}`);
      tried++;
    }
    assert.ok(tried > 0);
  });
}

test("every half has one encoding, and what no half holds is longer", () => {
  const view = new DataView(new ArrayBuffer(2));
  for (let bits = 0; bits < 2 ** 16; bits++) {
    view.setUint16(0, bits);
    if (((bits >> 10) & 31) === 31 || bits === 0x8000) continue;
    const content = Uint8Array.of(0xf9, bits >> 8, bits & 255);
    const read = decode(content, 9, 1) as Float;
    assert.deepEqual(encode(read), content);
  }
  for (const value of [65_505, 65_520, 2 ** -25, 1 + 2 ** -11, 3 * 2 ** -25, 0.1, 1e308, -5e-324]) {
    const content = encode(new Float(value));
    assert.ok(content.length > 3, String(value));
    assert.equal((decode(content, 9, 1) as Float).value, value);
  }
});

test("hexadecimal digits", () => {
  const bytes = Uint8Array.from({ length: 2 ** 16 }, (_, at) => (at * 167 + (at >> 8)) & 255);
  const digits = toHex(bytes);
  assert.equal(digits, Buffer.from(bytes).toString("hex"));
  assert.ok(sameBytes(fromHex(digits), bytes));
  assert.ok(sameBytes(fromHex("00ff9a0F"), Uint8Array.of(0, 255, 154, 15)));
});
