/** Values become members as the vectors say, where nothing throws. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { domain } from "../src/domains/domain.ts";
import { Text } from "../src/domains/strings.ts";
import { bytesOf, plain, value, vectors } from "./vectors.ts";

test("domains", () => {
  for (const each of vectors("good/domains").vectors) {
    const found = domain.read(plain(each.domain), "");
    assert.equal(found.size, plain(each.size));
    if (each.labels) {
      assert.deepEqual(
        Array.from({ length: each.labels.length }, (_, cell) => labelOfCell(found, BigInt(cell))),
        each.labels,
      );
    }
    for (const pair of each.values) {
      const codes = found.codes(value(pair.value));
      assert.deepEqual(codes, plain(pair.codes), JSON.stringify(pair));
      assert.equal(found.describe(codes), pair.label, JSON.stringify(pair));
      if ("cell" in pair) assert.equal(found.encode(value(pair.value)), plain(pair.cell));
    }
  }
});

function labelOfCell(found: ReturnType<typeof domain.read>, cell: bigint): string {
  const codes: bigint[] = [];
  for (const size of [...found.shape].reverse()) {
    codes.unshift(cell % size);
    cell /= size;
  }
  return found.describe(codes);
}

test("codes of texts", () => {
  for (const { tokens, lengths, normal, depth, vectors: cases } of vectors("good/text_codes").vectors) {
    const fields = { name: "t", normal, depth, salt: new Uint8Array(16), tokens: tokens.map(bytesOf) };
    const text = new Text({ ...fields, lengths: bytesOf(lengths) });
    for (const each of cases) {
      const bits = text.bitsOf(each.text).toString(2).padStart(depth, "0");
      assert.equal(bits, each.bits, JSON.stringify(each.text));
      assert.equal(bits.slice(0, 9), each.first_nine);
    }
  }
});

test("a name of the language's own objects is no attribute", () => {
  const found = domain.read(plain({ attributes: [
    { kind: "categorical", name: "constructor", categories: ["a", "b"], missing: true },
    { kind: "categorical", name: "__proto__", categories: ["a", "b"], missing: true },
  ] }), "");
  assert.deepEqual(found.codes({}), [2n, 2n]);
  assert.deepEqual(found.codes(JSON.parse('{"constructor": "b", "__proto__": "a"}')), [1n, 0n]);
});
