/** What must be read is read and written back; what must be refused is refused for its reason. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { encode } from "../src/documents/cbor.ts";
import { DevicePart } from "../src/documents/part.ts";
import * as errors from "../src/errors.ts";
import { sha256 } from "../src/sha256.ts";
import { toHex } from "../src/bytes.ts";
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
