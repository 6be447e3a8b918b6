/** A campaign whose reports go through a shuffler: sealed once, signed tasks, and nothing to anybody else. */

import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { test } from "node:test";

import { joined, toHex } from "../src/bytes.ts";
import { Client } from "../src/client.ts";
import { verify } from "../src/curve/ed25519.ts";
import { sha512 } from "../src/curve/sha512.ts";
import { digestOf } from "../src/documents/document.ts";
import { sealedOutcomes, sealedReports } from "../src/documents/sealed.ts";
import type { Shuffled } from "../src/documents/shuffled.ts";
import { type Task, task as taskType } from "../src/documents/task.ts";
import * as errors from "../src/errors.ts";
import { MemoryLedger } from "../src/ledgers/memory.ts";
import { Caps } from "../src/rules/caps.ts";
import { type Pair, sealer } from "../src/shuffled/sealing.ts";
import { bytesOf, vectors } from "./vectors.ts";
import { ADDRESS, cbor, NOW, problem, World } from "./world.ts";

const CAPS = Caps.of({ perPeriod: "4", periodDays: 28, lifetime: "48" });
const END = NOW + 5000;

test("SHA-512 and Ed25519 are the protocol's", () => {
  for (const length of [0, 111, 112, 127, 128, 300]) {
    const content = Uint8Array.from({ length }, (_, at) => (5 * at) & 255);
    assert.equal(toHex(sha512(content)), hashOf(content));
  }
  const { message, vectors: found, rule } = vectors("good/signatures");
  for (const each of [...found.map((one: object) => ({ message, ...one })), ...rule]) {
    const holds = verify(bytesOf(each.key), bytesOf(each.signature), bytesOf(each.message));
    assert.equal(holds, each.holds, each.name);
  }
});

test("a report is sealed as the vectors say", async () => {
  const { collector_key, vectors: found } = vectors("good/sealed");
  for (const { ephemeral_secret, info, plaintext, sealed } of found) {
    const content = bytesOf(plaintext);
    const seal = await sealer(bytesOf(collector_key).slice(), bytesOf(info), content.length, await pairOf(ephemeral_secret));
    assert.equal(toHex(seal(content)), sealed);
    assert.throws(() => seal(joined(content, content)), errors.InvalidValue);
  }
});

test("the same sealed bytes go out until the shuffler has them", async () => {
  const { world, client } = await joinedWorld();
  world.instead = (path) => (path.endsWith("/sealed") ? new Error("the connection broke") : null);
  await client.answer(world.campaign, "yes");
  await client.flush({ patienceS: 0 });
  const bodies = await sent(world, client, sealedOutcomes.write({ accepted: 2, replayed: 0 }));
  bodies.push(...(await sent(world, client, sealedOutcomes.write({ accepted: 0, replayed: 1 }))));
  assert.equal(new Set(bodies).size, 1);
  assert.equal(sealedReports.read(bytesOf(bodies[0]!)).sealed.length, 49);
  assert.equal((await client.account()).campaigns[0]!.waiting, 0);
});

test("tasks that the collector did not sign are refused, and numbers never fall", async () => {
  const { world, client, key } = await joinedWorld({ number: 5 });
  const refused = [
    { ...world.task, signature: null, number: 0 },
    { ...world.task, epoch: 3 },
    signed({ ...world.task, acceptUntil: END - 1, answerUntil: null }, key),
    signed({ ...world.task, number: 4 }, key),
  ];
  for (const task of refused) {
    world.task = task;
    await assert.rejects(client.answer(world.campaign, "yes"), errors.PlanRefused);
  }
  assert.equal((await client.account()).lifetime, 0n);
  world.task = signed({ ...world.task, number: 5 }, key);
  assert.equal((await client.answer(world.campaign, "yes")).status, "recorded");
});

test("a shuffled campaign is joined at its shuffler alone, where the platform can seal", async (context) => {
  const { world, client } = await joinedWorld();
  const { mixed } = await client.join(world.campaign);
  assert.match(String(mixed), /^\(ε .+, δ .+\) against the collector as long as telemetry\.example mixes in 20 random answers/);
  assert.ok(String(await client.account()).includes(`\n  each answer: ${mixed}\n`));
  const elsewhere = shuffledWorld(["https://mix.example"]).world;
  await assert.rejects((await opened(elsewhere)).join(elsewhere.campaign), /names the shuffler of the campaign/);
  const other = await opened(world);
  context.mock.method(crypto.subtle, "generateKey", () => Promise.reject(new DOMException("no X25519", "NotSupportedError")));
  await assert.rejects(other.join(world.campaign), /WebCrypto with X25519 is missing/);
});

test("a claim that the blanket does not prove spends nothing, and several answers are told together", async () => {
  const { world } = shuffledWorld([ADDRESS], {}, { nanoEpsilon: 10n ** 8n, attoDelta: 10n ** 6n });
  const client = await opened(world);
  await client.join(world.campaign);
  await assert.rejects(client.answer(world.campaign, "yes"), /claims \(ε 0\.1, δ 1e-12\), and 20 random reports prove less/);
  assert.equal((await client.account()).lifetime, 0n);
  const { mixed } = await client.join(world.campaign);
  assert.equal(mixed!.ofAnswers(3), "(ε 0.3, δ 3e-12)");
});

/** What of the reports is sent while the shuffler answers so. */
async function sent(world: World, client: Client, outcomes: Uint8Array<ArrayBuffer>): Promise<string[]> {
  const bodies: string[] = [];
  world.instead = (path, init) => {
    if (!path.endsWith("/sealed")) return path.endsWith("/reports") ? problem(409, "wrong-route") : null;
    assert.equal(new Headers(init?.headers).get("authorization"), null);
    bodies.push(toHex(init!.body as Uint8Array));
    return cbor(outcomes);
  };
  await (client as any).device.transaction((state: any) => (state.reports[0].notBefore = 0));
  await client.flush({ patienceS: 0 });
  return bodies;
}

async function joinedWorld(changes: Partial<Task> = {}) {
  const { world, key } = shuffledWorld([ADDRESS], changes);
  const client = await opened(world);
  await client.join(world.campaign);
  return { world, client, key };
}

function opened(world: World): Promise<Client> {
  const options = { server: ADDRESS, ledger: new MemoryLedger(), caps: CAPS, fetch: world.fetch, now: () => NOW };
  return Client.open({ ...options, uploadToken: "sdo_upload_x" });
}

function shuffledWorld(urls: string[], changes: Partial<Task> = {}, claim = { nanoEpsilon: 10n ** 9n, attoDelta: 10n ** 18n }) {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const taskKey = bytesOf(Buffer.from(publicKey.export({ format: "jwk" }).x!, "base64url").toString("hex"));
  const route: Shuffled & { kind: "shuffled" } = {
    kind: "shuffled",
    shuffler: { name: "mix", urls, key: new Uint8Array(32).fill(9) },
    suite: 1,
    keys: [{ fromRound: 0, key: bytesOf(vectors("good/sealed").collector_key) }],
    floor: 10,
    blanket: 20,
    end: END,
    taskKey,
    claims: [claim],
    headline: 0,
    issuer: null,
  };
  const world = new World({ route });
  world.task = signed({ ...world.task, epoch: 0, number: 1, answerUntil: END, acceptUntil: END, ...changes }, privateKey);
  return { world, key: privateKey };
}

function signed(task: Task, key: KeyObject): Task {
  const digest = digestOf(taskType.write({ ...task, signature: null }));
  const message = joined(new TextEncoder().encode("sordino task v1\0"), digest);
  return { ...task, signature: new Uint8Array(sign(null, message, key)) };
}

async function pairOf(secret: string): Promise<Pair> {
  const encoded = bytesOf(`302e020100300506032b656e04220420${secret}`).slice();
  const privateKey = await crypto.subtle.importKey("pkcs8", encoded, { name: "X25519" }, true, ["deriveBits"]);
  const { x } = await crypto.subtle.exportKey("jwk", privateKey);
  const raw = new Uint8Array(Buffer.from(x!, "base64url"));
  return { privateKey, publicKey: await crypto.subtle.importKey("raw", raw, { name: "X25519" }, true, []) };
}

function hashOf(content: Uint8Array): string {
  return createHash("sha512").update(content).digest("hex");
}
