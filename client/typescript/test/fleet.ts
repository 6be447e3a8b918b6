/**
 * Devices of the SDK against a real server: `node test/fleet.ts SERVER CAMPAIGN VALUES [FOLDER]`.
 *
 * VALUES is a JSON array with one value a device; each joins, answers, answers again and sends. With FOLDER the ledger of a
 * device is a folder in it. Prints what became of each answer and how many reports were delivered, as JSON.
 */

import { join } from "node:path";

import { Client } from "../src/index.ts";
import { FileLedger } from "../src/ledgers/file.ts";
import { MemoryLedger } from "../src/ledgers/memory.ts";
import { Caps } from "../src/rules/caps.ts";

const [server, campaign, values, folder] = process.argv.slice(2) as [string, string, string, string?];
const caps = Caps.of({ perPeriod: "1", periodDays: 28, lifetime: "12" });
const found: Record<string, number> = {};

for (const [number, value] of (JSON.parse(values) as unknown[]).entries()) {
  const ledger = folder ? await FileLedger.open(join(folder, String(number))) : new MemoryLedger();
  const client = await Client.open({ server, ledger, caps });
  const joined = await client.join(campaign);
  for (const answer of [await client.answer(joined, value), await client.answer(joined, value)]) count(answer.status);
  const { delivered, refused, waiting } = await client.flush({ patienceS: 0 });
  count("delivered", delivered);
  count("refused", refused.length);
  count("waiting", waiting);
  await client.close();
}
process.stdout.write(JSON.stringify(found));

function count(what: string, by = 1): void {
  found[what] = (found[what] ?? 0) + by;
}
