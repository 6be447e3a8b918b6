/** What a page loads stays small, and what it loads later is there when a campaign needs it. */

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { everything, firstChunk, MINIFIED } from "./sizes.ts";
import { ADDRESS, NOW, World } from "./world.ts";

const FIRST_CHUNK = 16_000;
const EVERYTHING = 51_500;
const ROOT = new URL("..", import.meta.url).pathname;
const skip = existsSync(join(ROOT, "node_modules/esbuild")) ? false : "esbuild is missing: npm ci in client/typescript";

test("the first chunk and the whole are no larger than their gates", { skip }, async () => {
  const [first, all] = [await firstChunk(), await everything()];
  assert.ok(first.gzip <= FIRST_CHUNK, `${first.gzip} bytes: \`node test/sizes.ts\` shows which modules they are`);
  assert.ok(all.gzip <= EVERYTHING, `${all.gzip} bytes`);
});

test("a page loads code when a campaign needs it, and spends nothing where it cannot", { skip }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "sordino-chunks-"));
  try {
    const { build } = await import("esbuild");
    await build({ ...MINIFIED, entryPoints: [join(ROOT, "src/index.ts")], splitting: true, outdir: folder });
    const { Caps, Client, MemoryLedger } = await import(pathToFileURL(join(folder, "index.js")).href);
    const caps = Caps.of({ perPeriod: "1", periodDays: 28, lifetime: "12" });
    const open = (world: World) =>
      Client.open({ server: ADDRESS, ledger: new MemoryLedger(), caps, fetch: world.fetch, now: () => NOW });
    const world = new World();
    const client = await open(world);
    await client.join(world.campaign);
    assert.equal((await client.answer(world.campaign, "yes")).status, "recorded");
    assert.equal((await client.flush({ patienceS: 0 })).delivered, 1);
    assert.match(String(await client.account()), /for life: ε 1 of 12/);
    // An emoji in a name is found by code of another chunk.
    const shown = new World({ name: "\u{1f468}\u200d\u{1f469}\u200d\u{1f467} at home" });
    await (await open(shown)).join(shown.campaign);
    const hidden = new World({ name: "at\u200dhome" });
    await assert.rejects((await open(hidden)).join(hidden.campaign), { code: "plan-refused" });
    // Its part is of another kind of randomizer, whose file is not there.
    for (const name of readdirSync(folder)) if (name.startsWith("subsets-")) rmSync(join(folder, name));
    const other = new World({}, "subset_selection");
    const offline = await open(other);
    await offline.join(other.campaign);
    await assert.rejects(offline.answer(other.campaign, "yes"), { code: "plan-unavailable" });
    assert.equal((await offline.account()).lifetime, 0n);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
