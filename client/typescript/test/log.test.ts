/** The public log that an app pins, and the keys that sign manifests: what the vectors say, and what a ledger remembers. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { fromHex, toHex } from "../src/bytes.ts";
import { Client } from "../src/client.ts";
import { logEntry } from "../src/documents/log_entry.ts";
import { manifest } from "../src/documents/manifest.ts";
import * as errors from "../src/errors.ts";
import { emptyState, type LogMark } from "../src/ledgers/ledger.ts";
import { MemoryLedger } from "../src/ledgers/memory.ts";
import { contradiction, isProved, keepEvidence, keepProof, marksOf, type Shown } from "../src/log/marks.ts";
import { readCheckpoint } from "../src/log/notes.ts";
import { LogPins, NoteKey, TooFewWitnesses } from "../src/log/pins.ts";
import { readDays, readProof } from "../src/log/proofs.ts";
import { isConsistent } from "../src/log/tree.ts";
import { Caps } from "../src/rules/caps.ts";
import { checkSigned } from "../src/signatures.ts";
import { manifestSignatures } from "../src/documents/finding.ts";
import { bytesOf, vectors } from "./vectors.ts";
import { ADDRESS, NOW, World } from "./world.ts";

const GOOD = vectors("good/log_proof");
const BAD = vectors("bad/log_proof");
const TODAY = 20_833;

function textOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function pins(more: object = {}): LogPins {
  return new LogPins({ log: GOOD.pins.log, witnesses: [GOOD.pins.witness], ...more });
}

test("proofs and days are read strictly, and lead to their root", () => {
  for (const { text, index, size } of GOOD.vectors) {
    const proof = readProof(textOf(text));
    assert.deepEqual([proof.index, proof.checkpoint.size], [BigInt(index), BigInt(size)]);
    assert.deepEqual(logEntry.write(proof.entry), proof.content);
  }
  for (const { name, text } of BAD.vectors) {
    const error = name === "too_long" ? errors.OversizedDocument : errors.MalformedDocument;
    assert.throws(() => readProof(textOf(text)), error, name);
  }
  assert.ok(readDays(textOf(GOOD.days)).days.length > 1);
  for (const { name, text } of BAD.days) {
    const error = name === "too_long" ? errors.OversizedDocument : errors.MalformedDocument;
    assert.throws(() => readDays(textOf(text)), error, name);
  }
  for (const { sizes, roots, path } of GOOD.consistency) {
    const [first, second] = [0, 1].map((at) => [BigInt(sizes[at]), fromHex(roots[at])] as const);
    assert.ok(isConsistent(first!, second!, path.map(fromHex)));
    if (path.length) assert.ok(!isConsistent(first!, second!, path.slice(1).map(fromHex)));
  }
});

test("a checkpoint is accepted by pinned keys and the quorum of witnesses", () => {
  for (const { name, note, now, witnesses } of GOOD.trust) {
    const found = () => pins().accept(readCheckpoint(note), now).names;
    if (witnesses) assert.deepEqual(found(), [GOOD.witness], name);
    else assert.throws(found, errors.InvalidValue, name);
  }
  const alone = readCheckpoint(GOOD.trust.find(({ name }: { name: string }) => name === "log_alone").note);
  assert.throws(() => pins().accept(alone, GOOD.time), TooFewWitnesses);
  assert.deepEqual(pins({ witnesses: [] }).accept(alone, GOOD.time).names, []);
  for (const { name, pins: which, note, accepted } of GOOD.rotation.checkpoints) {
    const accept = () => new LogPins({ log: GOOD.rotation.pins[which] }).accept(readCheckpoint(note), GOOD.time);
    if (accepted) accept();
    else assert.throws(accept, /no valid signature/, name);
  }
});

test("pins that cannot be meant are refused", () => {
  const { log, witness } = GOOD.pins;
  for (const { pins: wrong } of GOOD.rotation.wrong_pins) assert.throws(() => new LogPins({ log: wrong }), errors.WrongArgument);
  for (const more of [{ log: witness }, { witnesses: [log] }, { witnesses: [witness, witness] }, { quorum: 2 }, { quorum: -1 }, { log: [] }]) {
    assert.throws(() => pins(more), errors.WrongArgument, JSON.stringify(more));
  }
  const small = "small.example+0af43ab2+AQEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
  for (const text of ["", log.slice(0, -1), log.replace("90b3ceab", "90b3ceac"), `${log}\n`, `${log} `, small, null]) {
    assert.throws(() => new NoteKey(text), errors.WrongArgument, String(text));
  }
});

test("a ledger holds a log to what it showed before", () => {
  const [shown, state] = [shownOf("5_of_11"), emptyState()];
  const { log } = GOOD.pins;
  assert.equal(contradiction(pins(), [], shown, TODAY), null);
  keepProof(state, log, shown);
  keepProof(state, log, shown);
  assert.equal(marksOf(state, pins()).length, 1);
  assert.equal(marksOf(state, pins())[0]!.proofs.length, 1);
  const { entry } = shown.proof;
  assert.equal(isProved(state, pins(), toHex(entry.subject)), entry.event.kind === "campaign");
  const mark: LogMark = { key: log, size: "11", root: "00".repeat(32), day: null, proofs: [], isRefused: false };
  assert.match(contradiction(pins(), [mark], shown, TODAY)!, /two trees of 11 entries/);
  assert.throws(() => contradiction(pins(), [{ ...mark, size: "12" }], shown, TODAY), errors.PlanUnavailable);
  assert.match(contradiction(pins(), [{ ...mark, size: "9", day: 20_009 }], shown, TODAY)!, /no longer has the checkpoint of 9/);
  const none = { ...shown, days: { ...shown.days, days: [] } };
  assert.match(contradiction(pins(), [], none, TODAY)!, /has none/);
  for (let at = 0; at < 20; at++) keepEvidence(state, log, { ...shown, text: `${at}` });
  assert.equal(state.log!.marks.filter(({ isRefused }) => isRefused).length, 16);
  assert.equal(marksOf(state, pins()).length, 1, "evidence is no mark");
});

function shownOf(name: string): Shown {
  const { text } = GOOD.vectors.find((each: { name: string }) => each.name === name);
  return { proof: readProof(textOf(text)), text, days: readDays(textOf(GOOD.days)), vouchedAt: 0n };
}

test("a manifest is joined where a pinned key signed it", async () => {
  const { manifest: hex, vectors: found } = vectors("good/signatures");
  const read = manifest.read(bytesOf(hex));
  const campaign = vectors("good/signatures").message.slice(-64);
  for (const { name, key, signature, holds } of found) {
    const signatures = [{ key: bytesOf(key), signature: bytesOf(signature) }];
    const content = manifestSignatures.write({ campaign: fromHex(campaign), signatures });
    const check = (keys: string[]) => checkSigned(read, campaign, content, keys);
    if (holds) check([key]);
    else assert.throws(() => check([key]), errors.PlanRefused, name);
    assert.throws(() => check(["00".repeat(32)]), errors.PlanRefused);
  }
  const world = new World();
  const caps = Caps.of({ perPeriod: "1", periodDays: 28, lifetime: "12" });
  const options = { server: ADDRESS, caps, fetch: world.fetch };
  const client = await Client.open({ ...options, ledger: new MemoryLedger(), manifestKeys: [found[0].key] });
  await assert.rejects(client.join(world.campaign), /nobody signed the manifest/);
  for (const wrong of [{ manifestKeys: ["AB"] }, { manifestKeys: found[0].key }, { quorum: 1 }, { log: "x" }, { log: GOOD.pins.log, logPolicy: "perhaps" as any }]) {
    await assert.rejects(Client.open({ ...options, ledger: new MemoryLedger(), ...wrong }), errors.WrongArgument);
  }
});

test("the plan of a later round is in the log, whether it is fetched at the answer or by joining", async () => {
  const { deviceGuarantee, rounds } = manifest.read(new World().manifest);
  const nano = 2n * deviceGuarantee.nano;
  const more = { ...rounds[0]!, plan: null };
  const world = new World({ deviceGuarantee: { ...deviceGuarantee, nano }, rounds: [rounds[0]!, more] });
  world.task = { ...world.task, round: 1, deviceParts: [world.task.deviceParts[0]!, world.task.deviceParts[0]!] };
  const lie = () => new Response("a plan for this device alone", { headers: { "content-type": "text/plain" } });
  world.instead = (path) => (path.endsWith("/rounds/1/log-proof") || path.startsWith("/v1/log/days") ? lie() : null);
  const caps = Caps.of({ perPeriod: "4", periodDays: 28, lifetime: "12" });
  const ledger = new MemoryLedger();
  const options = { server: ADDRESS, caps, fetch: world.fetch, now: () => NOW, ledger };
  const client = await Client.open({ ...options, log: GOOD.pins.log, logPolicy: "prefer" });
  await client.join(world.campaign);
  await assert.rejects(client.answer(world.campaign, "yes"), /log proof/);
  assert.equal((await client.account()).lifetime, 0n);
});

test("a part that is kept already is in the log for this round, too", async () => {
  const { deviceGuarantee, rounds } = manifest.read(new World().manifest);
  const nano = 2n * deviceGuarantee.nano;
  const world = new World({ deviceGuarantee: { ...deviceGuarantee, nano }, rounds: [rounds[0]!, { ...rounds[0]!, plan: null }] });
  const [part] = world.task.deviceParts;
  const lie = () => new Response("a plan for this device alone", { headers: { "content-type": "text/plain" } });
  world.instead = (path) => (path.endsWith("/rounds/1/log-proof") || path.startsWith("/v1/log/days") ? lie() : null);
  const caps = Caps.of({ perPeriod: "4", periodDays: 28, lifetime: "12" });
  const options = { server: ADDRESS, caps, fetch: world.fetch, now: () => NOW, ledger: new MemoryLedger() };
  const client = await Client.open({ ...options, log: GOOD.pins.log, logPolicy: "prefer" });
  await client.join(world.campaign);
  await client.answer(world.campaign, "yes");
  const spent = (await client.account()).lifetime;
  world.task = { ...world.task, round: 1, deviceParts: [part!, part!] };
  await assert.rejects(client.answer(world.campaign, "yes"), /log proof/);
  assert.equal((await client.account()).lifetime, spent);
});
