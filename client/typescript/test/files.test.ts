/** Every file of vectors is used here, or listed with why it is not: a new one cannot be forgotten. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { DOCUMENTS, FOLDER } from "./vectors.ts";

/** Documents of servers and analysts, which no device reads. */
const NOT_OF_A_DEVICE = ["aggregate", "analyst_part", "batch_statement", "shuffled_page"];
/** What this SDK does not do yet, and what a device never does: it takes the weights of a plan as they are. */
const NOT_BUILT = ["report_ids"];
const OF_PLANNERS = ["laws", "sampling"];

test("every file is accounted for", () => {
  const folder = new URL(".", import.meta.url);
  const tests = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), "utf8")).join();
  for (const side of ["good", "bad"]) {
    for (const file of readdirSync(new URL(`${side}/`, FOLDER))) {
      const name = file.replace(".json", "");
      const isUsed = name in DOCUMENTS || tests.includes(`"${side}/${name}"`) || (side === "bad" && tests.includes(`"${name}"`));
      const isListed = [...NOT_OF_A_DEVICE, ...NOT_BUILT, ...OF_PLANNERS].includes(name);
      assert.ok(isUsed || isListed, `${side}/${name} is in no test`);
    }
  }
});
