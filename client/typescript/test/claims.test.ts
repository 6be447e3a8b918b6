/** What a shuffled campaign claims against its collector is proved before anything is spent. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { devicePart, type DevicePart } from "../src/documents/part.ts";
import type { Manifest } from "../src/documents/manifest.ts";
import { InvalidValue, PlanRefused } from "../src/errors.ts";
import { boundOf, checkHeadline } from "../src/shuffled/claims.ts";
import { composedClaim } from "../src/shuffled/composition.ts";
import { leastOverlap } from "../src/shuffled/overlaps.ts";
import { union } from "../src/documents/schema.ts";
import { dithered } from "../src/randomizers/dithered.ts";
import { basic } from "../src/randomizers/kinds.ts";
import { bytesOf, plain, vectors } from "./vectors.ts";

const RANDOMIZER = union({ ...basic, dithered });

const { parts: CASES, vectors: BOUNDS, composed: COMPOSED } = vectors("good/claims");
const PARTS = new Map(
  vectors("good/device_part").vectors.map(({ name, hex }: any) => [name, devicePart.read(bytesOf(hex))] as const),
) as Map<string, DevicePart>;

/** What is read of a manifest. */
function claiming(blanket: number, nanoEpsilon: bigint, attoDelta: bigint): Manifest {
  return { route: { kind: "shuffled", blanket, claims: [{ nanoEpsilon, attoDelta }], headline: 0 } } as any;
}

test("a claim on each part is proved, and one with too little is refused", () => {
  let proved = 0;
  for (const { name, has_blanket, closed_form, blanket, nano_epsilon, bound, proved: least, unproved } of CASES) {
    const part = PARTS.get(name)!;
    if (!has_blanket) {
      assert.throws(() => boundOf(part.randomizer, 80, 10n ** 9n), InvalidValue);
      continue;
    }
    const nano = BigInt(nano_epsilon);
    checkHeadline(claiming(blanket, nano, BigInt(least)), part);
    for (const each of unproved) {
      const manifest = claiming(blanket, nano, BigInt(each));
      if (closed_form) assert.throws(() => checkHeadline(manifest, part), PlanRefused, name);
      // The shuffler proves that of a table.
      else checkHeadline(manifest, part);
    }
    if (!closed_form) continue;
    const own = boundOf(part.randomizer, blanket, nano);
    assert.ok(Math.abs(own - bound.value) <= 1e-4 * bound.value + 1e-12, `${name}: ${own} for ${bound.value}`);
    proved++;
  }
  assert.ok(proved >= 14, `${proved} parts`);
});

test("a claim of any ε of the wire has a bound", () => {
  const { randomizer } = BOUNDS[0];
  for (const epsilon of [100n, 355n, 710n, 1000n]) assert.equal(boundOf(RANDOMIZER.read(plain(randomizer), ""), 80, epsilon * 10n ** 9n), 0);
});

test("the sets of one part share one budget: a part of some hundred bytes would hold a page for minutes", () => {
  const levels = [1, 2, 3].map((each) => ({ chance: 1n, label: { kind: "residue", moduli: [256n, 256n] }, members: new Uint8Array([each]) }));
  const part = { kind: "coarsened", levels, likelihoodRatio: () => [3n, 1n] } as any;
  assert.throws(() => boundOf(part, 80, 0n), /shifts of 3 sets are too many/);
});

test("bounds are those of the vectors, and no less than the exact δ", () => {
  for (const { name, randomizer, blanket, nano_epsilon, delta, bound } of BOUNDS) {
    const own = boundOf(RANDOMIZER.read(plain(randomizer), name), blanket, BigInt(nano_epsilon));
    assert.ok(own >= delta.value * (1 - 1e-9) - 1e-15, name);
    assert.ok(Math.abs(own - bound.value) <= 1e-4 * bound.value + 1e-12, `${name}: ${own} for ${bound.value}`);
  }
});

test("answers together give what the vectors say", () => {
  for (const { claims, headline, answers } of COMPOSED) {
    const read = claims.map(([nano, atto]: any) => ({ nanoEpsilon: BigInt(nano), attoDelta: BigInt(atto) }));
    for (const { count, nano_epsilon, atto_delta } of answers) {
      const found = composedClaim(read, read[headline], count);
      assert.deepEqual(found, { nanoEpsilon: BigInt(nano_epsilon), attoDelta: BigInt(atto_delta) });
    }
  }
});

test("the least overlap is that of all shifts one by one", () => {
  let state = 1n;
  const random = (bits: number) => {
    let found = 0n;
    for (let at = 0; at < bits; at++) {
      state = (state * 6364136223846793005n + 1442695040888963407n) % 2n ** 64n;
      found = (found << 1n) | (state >> 63n);
    }
    return found;
  };
  for (const shape of [[2], [31], [32], [33], [100], [2, 3], [4, 4, 4], [5, 7]]) {
    const cells = shape.reduce((all, size) => all * size, 1);
    for (let round = 0; round < 5; round++) {
      const members = random(cells);
      assert.equal(leastOverlap(members, shape), slowOverlap(members, shape, cells), `${shape} ${members}`);
    }
  }
  assert.throws(() => leastOverlap(1n, [2, 1 << 15]), /too many for a proof/);
});

function slowOverlap(members: bigint, shape: number[], cells: number): number {
  const codesOf = (cell: number) => shape.map((size, at) => Math.floor(cell / shape.slice(at + 1).reduce((a, b) => a * b, 1)) % size);
  const numberOf = (codes: number[]) => codes.reduce((cell, code, at) => cell * shape[at]! + code, 0);
  const isIn = (cell: number) => ((members >> BigInt(cell)) & 1n) === 1n;
  const shared = (shift: number) => {
    let count = 0;
    for (let cell = 0; cell < cells; cell++) {
      const moved = numberOf(codesOf(cell).map((code, at) => (code + codesOf(shift)[at]!) % shape[at]!));
      count += Number(isIn(cell) && isIn(moved));
    }
    return count;
  };
  return Math.min(...Array.from({ length: cells - 1 }, (_, at) => shared(at + 1)));
}
