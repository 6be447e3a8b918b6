/** Ledgers: the contract, damage, and processes that are stopped or killed. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { FileLedger } from "../src/ledgers/file.ts";
import { MemoryLedger } from "../src/ledgers/memory.ts";
import { testLedger } from "./contract.ts";

const FOLDER = mkdtempSync(join(tmpdir(), "sordino-ledger-"));
after(() => rmSync(FOLDER, { recursive: true }));

testLedger("memory", async () => new MemoryLedger());
testLedger("files", (name) => FileLedger.open(join(FOLDER, name)));

test("what was committed is there for the next process", async () => {
  const folder = join(FOLDER, "reopened");
  const first = await FileLedger.open(folder);
  await first.transaction((state) => (state.latest = 17));
  const second = await FileLedger.open(folder);
  assert.equal(await second.transaction((state) => state.latest), 17);
  assert.ok(readdirSync(folder).length <= 2);
});

test("what another process linked is synced before it is told, once", async () => {
  const folder = join(FOLDER, "synced");
  const [writing, reading] = [await FileLedger.open(folder), await FileLedger.open(folder)];
  const sync = (reading as any).syncFolder.bind(reading);
  let synced = 0;
  (reading as any).syncFolder = () => (synced++, sync());
  await writing.transaction((state) => (state.latest = 17));
  for (let at = 0; at < 3; at++) assert.equal(await reading.transaction((state) => state.latest), 17);
  assert.equal(synced, 1);
});

test("a damaged ledger is refused, and stays as it is", async () => {
  const folder = join(FOLDER, "damaged");
  const ledger = await FileLedger.open(folder);
  await ledger.transaction((state) => (state.latest = 17));
  const path = join(folder, `ledger.${lastVersion(folder)}`);
  writeFileSync(path, readFileSync(path, "utf8").replace('"latest":17', '"latest":18'));
  await assert.rejects(FileLedger.open(folder), /damaged/);
  await assert.rejects(ledger.transaction(() => null), { code: "ledger-unavailable" });
});

test("a folder that cannot be used is refused in words", async () => {
  const path = join(FOLDER, "file");
  writeFileSync(path, "");
  await assert.rejects(FileLedger.open(path), /choose a folder/);
});

test("a process that links a number which others passed does not take it for its own", async () => {
  // `link` of the slow one is held up while another commits three versions and deletes the first of them.
  const folder = join(FOLDER, "slow");
  const [slow, other] = [await FileLedger.open(folder), await FileLedger.open(folder)];
  const commit = (slow as any).write.bind(slow);
  let held = true;
  (slow as any).write = async (...given: unknown[]) => {
    await commit(...given);
    if (!held) return;
    held = false;
    for (let at = 0; at < 3; at++) await other.transaction((state) => state.latest++);
  };
  await slow.transaction((state) => (state.latest += 100));
  assert.equal(await other.transaction((state) => state.latest), 103);
});

test("processes that are killed lose nothing that they acknowledged, and answer nothing twice", async () => {
  const folder = join(FOLDER, "killed");
  await FileLedger.open(folder);
  const rounds = Number(process.env["SORDINO_KILLS"] ?? 1);
  const said: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const children = [0, 1].map((number) => start(folder, round, number, said));
    const before = said.length;
    while (said.length < before + 6) await new Promise((resolve) => setTimeout(resolve, 5));
    await Promise.all(children.map(killed));
  }
  const ledger = await FileLedger.open(folder);
  const found = await ledger.transaction((state) => state.debits.map(({ campaign }) => campaign));
  assert.equal(new Set(found).size, found.length);
  const acknowledged = said.join("").split("\n").filter(Boolean);
  assert.ok(acknowledged.length > 0, "no child came to write");
  for (const each of acknowledged) assert.ok(found.includes(each), `${each} is lost`);
});

/** Writes debits one after the other and says each after its commit. */
function start(folder: string, round: number, number: number, said: string[]): ChildProcess {
  const script = `
    import { FileLedger } from ${JSON.stringify(new URL("../src/ledgers/file.ts", import.meta.url).href)};
    import { writeSync } from "node:fs";
    const ledger = await FileLedger.open(${JSON.stringify(folder)});
    for (let at = 0; ; at++) {
      const campaign = "${round} ${number} " + at;
      await ledger.transaction((state) => state.debits.push({ campaign, round: 0, nano: "1", at: 1, periodStart: null }));
      writeSync(1, campaign + "\\n");
    }`;
  const child = spawn(process.execPath, ["--input-type=module-typescript", "--eval", script]);
  child.stdout.on("data", (data) => said.push(String(data)));
  child.stderr.on("data", (data) => process.stderr.write(data));
  return child;
}

/** SIGKILL; nothing a child said is missed. */
function killed(child: ChildProcess): Promise<unknown> {
  const ended = new Promise((resolve) => child.on("close", resolve));
  child.kill("SIGKILL");
  return ended;
}

function lastVersion(folder: string): number {
  return Math.max(...readdirSync(folder).map((name) => Number(name.split(".")[1])));
}
