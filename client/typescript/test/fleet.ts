/**
 * Devices of the SDK against a server: `node test/fleet.ts ORDER` with a JSON object.
 *
 * Each of `values` is a device: it joins `campaign` at `server`, answers, answers again and sends. With `folder` its ledger is
 * a folder in it; with `through` its requests go to that address in place of the server's; `now` is its clock. Prints what
 * became of each answer and how many reports were delivered, as JSON.
 */

import { join } from "node:path";

import { FileLedger } from "../src/ledgers/file.ts";
import { MemoryLedger } from "../src/ledgers/memory.ts";
import { Caps, Client, type ClientOptions } from "../src/index.ts";

interface Order {
  readonly server: string;
  readonly campaign: string;
  readonly values: readonly unknown[];
  readonly folder?: string;
  readonly through?: string;
  readonly now?: number;
  readonly cap?: string;
  readonly options?: Partial<ClientOptions>;
}

const { server, campaign, values, folder, through, now, cap = "1", options = {} } = JSON.parse(process.argv[2]!) as Order;
const caps = Caps.of({ perPeriod: cap, periodDays: 28, lifetime: "48" });
const elsewhere: typeof fetch = (url, init) => fetch(String(url).replace(server, through!), init);
const more: Partial<ClientOptions> = {
  ...options,
  ...(through ? { fetch: elsewhere } : {}),
  ...(now ? { now: () => now } : {}),
};
const found: Record<string, number> = {};

for (const [number, value] of values.entries()) {
  const ledger = folder ? await FileLedger.open(join(folder, String(number))) : new MemoryLedger();
  const client = await Client.open({ server, ledger, caps, ...more });
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
