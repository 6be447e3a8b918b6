/** Reads lines `TYPE HEX`; writes for each what the reader says: `ok`, or the name of the error. */

import { readFileSync } from "node:fs";

import { DevicePart } from "../src/documents/part.ts";
import { bytesOf, DOCUMENTS } from "./vectors.ts";

const found = readFileSync(0, "utf8").trim().split("\n").map((line) => {
  const [type, hex] = line.split(" ") as [string, string];
  try {
    const document = DOCUMENTS[type]!.read(bytesOf(hex ?? ""));
    if (document instanceof DevicePart) document.prove();
    return "ok";
  } catch (error) {
    return (error as Error).name;
  }
});
process.stdout.write(`${found.join("\n")}\n`);
