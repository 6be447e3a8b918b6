/** One device through a campaign: each round once, nothing that depends on the value, the same bytes until they count. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { fromHex } from "../src/bytes.ts";
import { Client } from "../src/client.ts";
import * as errors from "../src/errors.ts";
import { MemoryLedger } from "../src/ledgers/memory.ts";
import type { ClientOptions } from "../src/options.ts";
import { Caps } from "../src/rules/caps.ts";
import { ADDRESS, NOW, problem, World } from "./world.ts";

const CAPS = Caps.of({ perPeriod: "1", periodDays: 28, lifetime: "12" });

async function opened(world: World, more: Partial<ClientOptions> = {}): Promise<Client> {
  const options = { server: ADDRESS, ledger: new MemoryLedger(), caps: CAPS, fetch: world.fetch, now: () => NOW };
  return Client.open({ ...options, ...more });
}

test("a round is answered once, and its report counts once", async () => {
  const world = new World();
  const client = await opened(world);
  const campaign = await client.join(world.campaign);
  assert.equal(campaign.purpose, "Your answer, with noise that hides it.");
  const answer = await client.answer(campaign, "yes");
  assert.deepEqual(answer, { status: "recorded", campaign: world.campaign, round: 0, spent: 1_000_000_000n });
  assert.equal((await client.answer(campaign, "no")).status, "already_answered");
  const flushed = await client.flush({ patienceS: 0 });
  assert.deepEqual([flushed.delivered, flushed.waiting], [1, 0]);
  assert.equal(world.reports.size, 1);
  assert.match(String(await client.account()), /ε 1 in 1 answers, 0 waiting\nin 28 days: ε 1 of 1\nfor life: ε 1 of 12/);
});

test("requests are the same for every value, and carry no credentials", async () => {
  const asked = [];
  for (const value of ["no", "yes", { answer: "perhaps" }, null, 17, "another"]) {
    const world = new World();
    const client = await opened(world, { uploadToken: "sdo_upload_x" });
    await client.answer(await client.join(world.campaign), value);
    await client.flush({ patienceS: 0 });
    asked.push(world.asked.map(({ method, path, headers }) => [method, path, [...headers]]));
  }
  for (const each of asked) assert.deepEqual(each, asked[0]);
  const sent = asked[0]!.at(-1)! as [string, string, [string, string][]];
  assert.deepEqual(sent[2], [
    ["accept", "application/cbor"],
    ["authorization", "Bearer sdo_upload_x"],
    ["content-type", "application/cbor"],
  ]);
});

test("the same bytes go out until the server answers for them", async () => {
  const world = new World();
  let now = NOW;
  const client = await opened(world, { now: () => now });
  await client.answer(await client.join(world.campaign), "yes");
  world.instead = (path) => (path.endsWith("/reports") ? problem(503, "overloaded", { "retry-after": "50" }) : null);
  const first = await client.flush({ patienceS: 0 });
  assert.deepEqual([first.delivered, first.waiting, first.trouble], [0, 1, "HTTP 503 (overloaded)"]);
  assert.ok(first.retryInS! >= 50);
  now += 3 * 86_400;
  // The answer was lost: the report counts all the same, once.
  world.instead = null;
  const body = world.fetch;
  world.instead = (path) => (path.endsWith("/reports") ? new Error("the connection broke") : null);
  assert.equal((await client.flush({ patienceS: 0 })).waiting, 1);
  world.instead = null;
  now += 3 * 86_400;
  assert.equal((await client.flush({ patienceS: 0 })).delivered, 1);
  assert.equal(world.reports.size, 1);
  assert.equal(world.fetch, body);
});

test("what a server cannot say in the protocol's words is never final", async () => {
  for (const instead of [
    new Response("<html>log in</html>", { headers: { "content-type": "text/html" } }),
    new Response("gone", { status: 404 }),
    problem(404, "wrong-word"),
    problem(500, "internal-error"),
    problem(403, "forbidden"),
  ]) {
    const world = new World();
    const client = await opened(world);
    await client.answer(await client.join(world.campaign), "yes");
    world.instead = () => instead.clone() as Response;
    assert.equal((await client.flush({ patienceS: 0 })).waiting, 1);
  }
  const world = new World();
  const client = await opened(world);
  await client.answer(await client.join(world.campaign), "yes");
  world.instead = () => problem(409, "round-not-open");
  const { refused, waiting } = await client.flush({ patienceS: 0 });
  assert.deepEqual([refused.map(({ reason }) => reason), waiting], [["round-not-open"], 0]);
  assert.equal((await client.account()).lifetime, 1_000_000_000n);
});

test("without a connection the task that was read last says what is open, until its time is over", async () => {
  const world = new World();
  world.task = { ...world.task, answerUntil: NOW + 500, acceptUntil: NOW + 900 };
  let now = NOW;
  const clock = () => now;
  const answerAt = async (seconds: number) => {
    const client = await opened(world, { now: clock });
    world.instead = null;
    now = NOW;
    await client.join(world.campaign);
    world.instead = () => new Error("offline");
    now = seconds;
    return (await client.answer(world.campaign, "yes")).status;
  };
  assert.equal(await answerAt(NOW + 499), "recorded");
  await assert.rejects(answerAt(NOW + 500), errors.PlanUnavailable);
  await assert.rejects(answerAt(NOW - 1), errors.PlanUnavailable);
});

test("what contradicts the manifest is refused before anything is drawn", async () => {
  const other = new Uint8Array(32).fill(7);
  const signed = { number: 1, signature: new Uint8Array(64) };
  for (const change of [{ deviceParts: [other] }, { campaign: other }, signed]) {
    const world = new World();
    const client = await opened(world);
    await client.join(world.campaign);
    world.task = { ...world.task, ...change };
    await assert.rejects(client.answer(world.campaign, "yes"), errors.PlanRefused);
    assert.equal((await client.account()).lifetime, 0n);
  }
  const world = new World();
  world.manifest[world.manifest.length - 1]! ^= 1;
  await assert.rejects((await opened(world)).join(world.campaign), errors.PlanRefused);
});

test("a campaign of other servers is not joined", async () => {
  const servers = [{ name: "eu", urls: ["https://eu.telemetry.example"] }];
  const elsewhere = new World({ servers });
  await assert.rejects((await opened(elsewhere)).join(elsewhere.campaign), /none of them/);
});

test("caps hold, and a value of another shape spends nothing", async () => {
  const world = new World();
  const caps = Caps.of({ perPeriod: "0.5", periodDays: 28, lifetime: "12" });
  const client = await opened(world, { caps });
  await client.join(world.campaign);
  await assert.rejects(client.answer(world.campaign, "yes"), { code: "budget-exceeded", scope: "period" });
  await assert.rejects(client.answer(world.campaign, { asnwer: "yes" }), errors.WrongShape);
  assert.equal((await client.account()).campaigns[0]!.waiting, 0);
});

test("who leaves is not asked again, and nothing of theirs is sent", async () => {
  const world = new World();
  const client = await opened(world);
  await client.answer(await client.join(world.campaign), "yes");
  await client.optOut(world.campaign);
  assert.equal((await client.answer(world.campaign, "yes")).status, "opted_out");
  assert.equal((await client.flush({ patienceS: 0 })).delivered, 0);
  assert.equal((await client.account()).lifetime, 1_000_000_000n);
  await client.optOutAll();
  const asked = world.asked.length;
  for (const campaign of ["ab".repeat(32), world.campaign]) await assert.rejects(client.join(campaign), errors.OptedOut);
  assert.equal(world.asked.length, asked, "a request of a device whose owner left");
  await client.optIn();
  assert.equal((await client.answer(world.campaign, "yes")).status, "opted_out");
});

test("many at once: one of them answers", async () => {
  const world = new World();
  const client = await opened(world);
  await client.join(world.campaign);
  const all = await Promise.all(Array.from({ length: 20 }, () => client.answer(world.campaign, "yes")));
  assert.equal(all.filter(({ status }) => status === "recorded").length, 1);
});

test("a series is answered once in its turn", async () => {
  const law = { start: NOW - 50, periodS: 100, slots: 2, answersMax: 3, valueOf: "current", lateS: 10, replaces: null } as const;
  const world = new World({
    assignment: { kind: "rotating", ...law },
    deviceGuarantee: { kind: "pure_epsilon", nano: 3_000_000_000n },
  });
  let now = NOW;
  const client = await opened(world, { now: () => now, caps: Caps.of({ perPeriod: "12", periodDays: 28, lifetime: "12" }) });
  await client.join(world.campaign);
  const statuses: string[] = [];
  for (let period = 0; period < 10; period++, now += 100) {
    const due = await client.due(world.campaign);
    const asked = world.asked.length;
    const { status, round } = await client.answer(world.campaign, "yes");
    statuses.push(status);
    if (due) assert.equal(round, period);
    else assert.equal(world.asked.length, asked, "a request in a period that is another device's");
  }
  assert.equal(statuses.filter((status) => status === "recorded").length, 3);
  const first = statuses.indexOf("recorded");
  assert.deepEqual(statuses.slice(first, first + 5), [
    "recorded", "not_this_period", "recorded", "not_this_period", "recorded",
  ]);
  const account = await client.account();
  assert.equal(account.campaigns[0]!.waiting, 0);
  const told = "series: at most ε 1 about any 2 periods of 100 seconds in a row, at least 100 seconds apart, 3 of 3 answers given (over)";
  assert.ok(String(account).includes(`\n  ${told}\n`), String(account));
  assert.equal((await client.flush({ patienceS: 0 })).delivered, 0, "they expired with their periods");
});

test("addresses, ids and generators that are none are refused", async () => {
  const world = new World();
  for (const server of ["telemetry.example", "http://telemetry.example", "https://a@telemetry.example", "https://x/?a"]) {
    await assert.rejects(opened(world, { server }), errors.WrongArgument, server);
  }
  // What JavaScript passes where TypeScript would not.
  for (const wrong of [{ caps: { perPeriod: 9n } }, { spoolLimit: NaN }, { largestPart: "1e6" }, { uploadToken: "a\n" }]) {
    await assert.rejects(opened(world, wrong as any), errors.WrongArgument, Object.keys(wrong)[0]);
  }
  await assert.rejects(opened(world, { random: { bytes: (count) => new Uint8Array(count) } }), /generator/);
  await assert.rejects(opened(world, { now: () => NaN }), errors.ClockUnusable);
  await assert.rejects(opened(world, { now: () => 1e13 }), errors.ClockUnusable);
  await assert.rejects((await opened(world)).join("AB".repeat(32)), errors.WrongArgument);
  await assert.rejects((await opened(world)).answer(world.campaign, "yes"), errors.NotJoined);
});

test("what a page left is sent by its next visit, and again while it waits", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const world = new World();
  let now = NOW;
  const ledger = new MemoryLedger();
  const options = { ledger, now: () => now };
  await opened(world, options).then(async (first) => first.answer(await first.join(world.campaign), "yes"));
  const { retry } = await ledger.transaction((state) => state.reports[0]!);
  world.instead = (path) => (path.endsWith("/reports") ? problem(503, "overloaded") : null);
  const uploads = () => world.asked.filter(({ path }) => path.endsWith("/reports")).length;
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const pass = async (seconds: number) => {
    now += seconds;
    context.mock.timers.tick(1000 * seconds);
    for (let at = 0; at < 5; at++) await settled();
  };
  const next = await opened(world, { ...options, autoFlush: true });
  assert.equal(uploads(), 0);
  await pass(Math.max(retry.maxS, 2));
  assert.equal(uploads(), 1);
  world.instead = null;
  await pass(2 * 86_400);
  assert.equal(world.reports.size, 1);
  await next.close();
});

test("a preview draws, sends and spends nothing", async () => {
  const world = new World();
  const client = await opened(world);
  await client.join(world.campaign);
  const asked = world.asked.length;
  const shown = await client.preview(world.campaign, "yes");
  const { payloadBytes, uploadBytes, guarantee, round } = await client.preview(world.campaign);
  assert.deepEqual([payloadBytes, guarantee, round], [1, 1_000_000_000n, 0]);
  assert.match(String(shown), /spends   ε 1\nsends    [0-9]+ bytes to https:\/\/telemetry\.example, 1 of them depend/);
  await assert.rejects(client.preview(world.campaign, { another: 1 }), errors.WrongShape);
  assert.equal(world.asked.length, asked);
  assert.equal((await client.account()).lifetime, 0n);
  await client.answer(world.campaign, "yes");
  await client.flush({ patienceS: 0 });
  assert.equal(world.bodies[0]!.length, uploadBytes);
});

test("the owner reads the text of their language", async () => {
  const text = (language: string) => ({ language, purpose: `in ${language}`, contact: null, link: null });
  const world = new World({ texts: ["de", "de-AT", "zh-Hant"].map(text) });
  const client = await opened(world);
  await client.join(world.campaign);
  const read = async (...languages: string[]) => (await client.text(world.campaign, languages))?.purpose ?? null;
  assert.equal(await read("de-CH", "zh"), "in de");
  assert.equal(await read("DE-at-1996"), "in de-AT");
  assert.equal(await read("en", "zh-Hant-x-own"), "in zh-Hant");
  assert.equal(await read("*", "zh", "", "d"), null);
  await assert.rejects(client.text(world.campaign, "de" as any), errors.WrongArgument);
});

test("strings are answered", async () => {
  const world = new World({}, "strings");
  const client = await opened(world);
  await client.join(world.campaign);
  assert.equal((await client.answer(world.campaign, "https://example.org/")).status, "recorded");
  assert.equal((await client.flush({ patienceS: 0 })).delivered, 1);
});

test("a series takes the place of another one, with its answers and its pace", async () => {
  const law = { start: NOW - 50, periodS: 100, slots: 1, answersMax: 3, valueOf: "current", lateS: 0, replaces: null } as const;
  const deviceGuarantee = { kind: "pure_epsilon", nano: 3_000_000_000n } as const;
  const old = new World({ assignment: { kind: "rotating", ...law }, deviceGuarantee });
  const next = (changes: object) => {
    const replaces = fromHex(old.campaign);
    return new World({ assignment: { kind: "rotating", ...law, replaces, ...changes }, name: "next", deviceGuarantee });
  };
  let [world, now] = [old, NOW];
  const through = ((url, init) => world.fetch(url as string, init)) as typeof fetch;
  const caps = Caps.of({ perPeriod: "12", periodDays: 28, lifetime: "12" });
  const client = await opened(old, { now: () => now, caps, fetch: through });
  world = next({});
  await assert.rejects(client.join(world.campaign), /which this device did not join/);
  world = old;
  await client.join(old.campaign);
  assert.equal((await client.answer(old.campaign, "yes")).status, "recorded");
  for (const [changes, words] of [[{ periodS: 50 }, /periodS/], [{ answersMax: 2 }, null]] as const) {
    world = next(changes);
    if (words) await assert.rejects(client.join(world.campaign), words);
    else await client.join(world.campaign);
  }
  const { campaign } = world;
  assert.equal((await client.answer(campaign, "yes")).status, "already_answered", "the period of the old one");
  now += 100;
  assert.equal((await client.answer(campaign, "yes")).status, "recorded");
  now += 100;
  assert.equal((await client.answer(campaign, "yes")).status, "already_answered", "its answers count");
  assert.equal((await client.answer(old.campaign, "yes")).status, "not_open");
  world = next({ lateS: 0, slots: 2 });
  await assert.rejects(client.join(world.campaign), /has replaced that series already/);
});

test("an endless body is left behind", async () => {
  const world = new World();
  let given = 0;
  const endless = () =>
    new ReadableStream({
      pull(controller) {
        given += 1 << 16;
        controller.enqueue(new Uint8Array(1 << 16));
      },
    });
  world.instead = () => new Response(endless(), { headers: { "content-type": "application/cbor" } });
  await assert.rejects((await opened(world)).join(world.campaign), errors.PlanRefused);
  assert.ok(given < 16 << 20);
});
