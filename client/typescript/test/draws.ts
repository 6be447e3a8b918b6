/** Reads lines of JSON {part, seed, codes}; writes the payloads that a stream of SHAKE-128 gives: Python's are the same. */

import { readFileSync } from "node:fs";

import { joined, toBigEndian, toHex } from "../src/bytes.ts";
import { devicePart } from "../src/documents/part.ts";
import { shake } from "../src/randomizers/keccak.ts";
import type { Randomness } from "../src/randomizers/random.ts";
import { bytesOf } from "./vectors.ts";

class ShakeRandomness implements Randomness {
  private readonly seed: Uint8Array;
  private drawn = 0n;

  constructor(seed: number) {
    this.seed = joined(new TextEncoder().encode("sordino test stream"), toBigEndian(BigInt(seed), 8));
  }

  bytes(count: number): Uint8Array {
    this.drawn++;
    return shake(128, joined(this.seed, toBigEndian(this.drawn, 8)), count);
  }
}

for (const line of readFileSync(0, "utf8").trim().split("\n")) {
  const { part, seed, values } = JSON.parse(line);
  const read = devicePart.read(bytesOf(part));
  const random = new ShakeRandomness(seed);
  const payloads = values.map((codes: string[]) => toHex(read.randomize(codes.map(BigInt), random)));
  process.stdout.write(`${JSON.stringify([String(read.prove()), ...payloads])}\n`);
}
