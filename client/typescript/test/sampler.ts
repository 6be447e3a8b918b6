/**
 * A sampler for `sordino conformance`: `node test/sampler.ts PART [COUNT] [CELL]` prints COUNT lines `CELL PAYLOAD` of each
 * cell, or one line of the cell that is named last.
 */

import { readFileSync } from "node:fs";

import { devicePart } from "../src/all.ts";
import { toHex } from "../src/bytes.ts";
import { SystemRandomness } from "../src/randomizers/random.ts";
import { cellCodes } from "../src/randomizers/randomizer.ts";

const [path, ...rest] = process.argv.slice(2);
const part = devicePart.read(new Uint8Array(readFileSync(path!)));
const random = new SystemRandomness();
part.prove();

// A fresh process names the cell alone; otherwise a count comes first.
const [count, cells] =
  rest.length === 1 ? [1, [BigInt(rest[0]!)]] : [Number(rest[0]), rest.slice(1).map((cell) => BigInt(cell))];
for (const cell of cells) {
  const codes = cellCodes(cell, part.domain.shape);
  const lines = Array.from({ length: count }, () => `${cell} ${toHex(part.randomize(codes, random))}\n`);
  process.stdout.write(lines.join(""));
}
