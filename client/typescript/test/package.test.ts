/** What is packed: the built code alone, without dependencies, whose types resolve for apps. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const ROOT = new URL("..", import.meta.url).pathname;
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");
const skip = existsSync(TSC) ? false : "TypeScript is missing: npm ci in client/typescript";
const APP = `
import { Caps, Client, MemoryLedger, type Answer, type Campaign, type Found, type Preview } from "sordino-client";
import { devicePart } from "sordino-client/all";
import { FileLedger } from "sordino-client/node";
import { ledgerContract } from "sordino-client/ledger-contract";

const caps: Caps = Caps.of({ perPeriod: "1", periodDays: 28, lifetime: "12" });
export async function asked(id: string): Promise<bigint | null> {
  const client = await Client.open({ server: "https://telemetry.example", ledger: new MemoryLedger(), caps });
  const campaign: Campaign = await client.join(id);
  const answer: Answer = await client.answer(campaign, 17);
  const shown: Preview = await client.preview(campaign);
  const found: Found = await client.find("devices", { accept: ({ rounds }) => rounds.length === 1 });
  // @ts-expect-error: ε is text
  Caps.of({ perPeriod: 1, periodDays: 28, lifetime: "12" });
  return found.looked ? shown.guarantee : answer.spent;
}
export const all = [devicePart, FileLedger, ledgerContract];
`;

test("the manifest of the package names nothing else", () => {
  const { dependencies, scripts, files, type, engines, exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  assert.equal(dependencies, undefined);
  assert.deepEqual(Object.keys(scripts).filter((name) => /install|^prepare$/.test(name)), []);
  assert.deepEqual([files, type, engines.node], [["dist"], "module", ">=20.19"]);
  for (const { types, default: code } of Object.values(exports) as { types: string; default: string }[]) {
    assert.ok(existsSync(join(ROOT, code.replace("dist", "src").replace(/js$/, "ts"))), code);
    assert.equal(types, code.replace(/js$/, "d.ts"));
  }
});

test("the built code is whole, and its types resolve as bundlers and node do", { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), "sordino-package-"));
  try {
    const own = join(folder, "node_modules/sordino-client");
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, "package.json"), readFileSync(join(ROOT, "package.json")));
    tsc("-p", join(ROOT, "tsconfig.build.json"), "--outDir", join(own, "dist"));
    for (const name of readdirSync(join(own, "dist"), { recursive: true }) as string[]) {
      assert.match(name, /^[a-z0-9_/]+(\.d\.ts|\.js)?$/, name);
    }
    writeFileSync(join(folder, "app.ts"), APP);
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    symlinkSync(join(ROOT, "node_modules/@types"), join(folder, "node_modules/@types"));
    const common = ["--noEmit", "--strict", "--target", "es2022", "--types", "node", join(folder, "app.ts")];
    for (const module of [["node16", "node16"], ["esnext", "bundler"]] as const) {
      tsc("--ignoreConfig", "--module", module[0], "--moduleResolution", module[1], ...common);
    }
    const ran = `const { Client, Caps } = await import("sordino-client"); console.log(typeof Client.open, typeof Caps.of);`;
    const said = execFileSync(process.execPath, ["--input-type=module", "--eval", ran], { cwd: folder, encoding: "utf8" });
    assert.equal(said.trim(), "function function");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

function tsc(...options: string[]): void {
  try {
    execFileSync(process.execPath, [TSC, ...options], { encoding: "utf8", cwd: ROOT });
  } catch (error) {
    assert.fail((error as { stdout: string }).stdout);
  }
}
