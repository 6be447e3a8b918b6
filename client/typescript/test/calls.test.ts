/** Calls that few apps need: the move to another address, the next turn of a series, a value in words, caps that refuse. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { fromHex, toHex } from "../src/bytes.ts";
import { capConflict } from "../src/cap_conflict.ts";
import { Client } from "../src/client.ts";
import { digestOf } from "../src/documents/document.ts";
import type { Rotating } from "../src/documents/series.ts";
import * as errors from "../src/errors.ts";
import { emptyState } from "../src/ledgers/ledger.ts";
import { MemoryLedger } from "../src/ledgers/memory.ts";
import { Caps } from "../src/rules/caps.ts";
import { keepPart } from "../src/rules/parts.ts";
import { afterAnswer, firstState, nextMoment, toAnswer } from "../src/rules/series.ts";
import { ADDRESS, NOW, World } from "./world.ts";

const CAPS = Caps.of({ perPeriod: "1", periodDays: 28, lifetime: "12" });
const OTHER = "https://other.example";
/** Calls of the Python SDK that a page or node has no use for. */
const NOT_HERE = { send_detached: "a process of its own sends after a tool's end; a page sends when it is hidden" };

/** Two clients on one ledger, the second one at another address of the same server. */
async function both(world: World) {
  const ledger = new MemoryLedger();
  const elsewhere = (url: string | URL | Request, init?: RequestInit) => world.fetch(String(url).replace(OTHER, ADDRESS), init);
  const options = { ledger, caps: CAPS, now: () => NOW };
  return {
    here: await Client.open({ ...options, server: ADDRESS, fetch: world.fetch }),
    there: await Client.open({ ...options, server: OTHER, fetch: elsewhere }),
  };
}

test("every call of the Python SDK is here, or named with why not", () => {
  const page = readFileSync(new URL("../../../docs/sdk.md", import.meta.url), "utf8");
  const table = page.slice(page.indexOf("## The calls"), page.indexOf("`Answer.status`"));
  const calls = [...table.matchAll(/^\| `([a-z_]+)\(/gm)].map(([, name]) => name!);
  assert.ok(calls.length >= 13, calls.join());
  for (const name of calls.filter((each) => !(each in NOT_HERE))) {
    const own = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    assert.equal(typeof (Client.prototype as any)[own], "function", own);
  }
});

test("a client without options, and a campaign that is none, are wrong arguments", async () => {
  for (const options of [undefined, null, {}, { caps: CAPS }]) {
    await assert.rejects(Client.open(options as any), errors.WrongArgument);
  }
  const { here } = await both(new World());
  for (const campaign of [null, undefined, {}, 7, "A".repeat(64)]) {
    await assert.rejects(here.join(campaign as any), errors.WrongArgument);
    await assert.rejects(here.arm(campaign as any), errors.WrongArgument);
  }
});

test("a campaign moves to another address of its server, and its reports with it", async () => {
  const world = new World();
  const { here, there } = await both(world);
  await assert.rejects(there.rehome(world.campaign, OTHER), errors.NotJoined);
  await here.answer(await here.join(world.campaign), "yes");
  await assert.rejects(there.answer(world.campaign, "yes"), errors.ServedElsewhere);
  assert.equal(await there.arm(world.campaign), null);
  assert.equal((await there.flush({ patienceS: 0 })).delivered, 0);
  await assert.rejects(there.rehome(world.campaign, ADDRESS), errors.WrongArgument);
  world.instead = () => new Error("offline");
  await assert.rejects(there.rehome(world.campaign, OTHER), errors.PlanUnavailable);
  world.instead = (path) => (path.endsWith(world.campaign) ? new Response(new World({ name: "x" }).manifest, CBOR) : null);
  await assert.rejects(there.rehome(world.campaign, OTHER), errors.PlanRefused);
  world.instead = null;
  assert.equal((await there.rehome(world.campaign, OTHER)).id, world.campaign);
  assert.equal((await there.answer(world.campaign, "yes")).status, "already_answered");
  assert.equal((await there.flush({ patienceS: 0 })).delivered, 1);
  await assert.rejects(here.answer(world.campaign, "yes"), errors.ServedElsewhere);
  await there.optOutAll();
  await assert.rejects(here.rehome(world.campaign, ADDRESS), errors.OptedOut);
});

test("a device stays with one of several servers of a campaign", async () => {
  const servers = [{ name: "one", urls: [ADDRESS] }, { name: "two", urls: [OTHER] }];
  const world = new World({ servers });
  const { here, there } = await both(world);
  await here.join(world.campaign);
  await assert.rejects(there.rehome(world.campaign, OTHER), { code: "server-changed", name: "ServerChanged" });
  await assert.rejects(there.arm(world.campaign), { code: "server-changed" });
  const same = new World({ servers: [{ name: "one", urls: [ADDRESS, OTHER] }] });
  const clients = await both(same);
  await clients.here.join(same.campaign);
  assert.equal((await clients.there.rehome(same.campaign, OTHER)).optedOut, false);
});

test("a value is told in words, and one that is not listed is refused", async () => {
  const { here } = await both(new World());
  const world = new World();
  const { here: client } = await both(world);
  await assert.rejects(here.check(world.campaign, "yes"), errors.NotJoined);
  await client.join(world.campaign);
  assert.equal(await client.check(world.campaign, "yes"), "yes");
  await assert.rejects(client.check(world.campaign, 17), errors.OutsideDomain);
  await assert.rejects(client.check(world.campaign, { wrong: "yes" }), errors.WrongShape);
  assert.equal((await client.account()).lifetime, 0n);
});

test("the next turn of a series is the first second at which it asks", () => {
  for (const valueOf of ["current", "previous"] as const) {
    for (const [slots, lateS, answersMax] of [[1, 0, 3], [3, 0, 4], [3, 4, 4], [4, 7, 9]] as const) {
      const law = { start: 100, periodS: 10, slots, lateS, answersMax, valueOf, replaces: null } as unknown as Rotating;
      for (let phase = 0; phase < slots; phase++) {
        let state = firstState(phase, { minS: 1, maxS: 2 });
        let told = nextMoment(law, state, 0);
        for (let now = 0; now < 900; now++) {
          const asked = toAnswer(law, state, now);
          if (typeof asked === "string") {
            assert.ok(told === null || told > now, `${valueOf} ${slots} ${lateS} ${phase}: told ${told}, at ${now} ${asked}`);
            continue;
          }
          assert.equal(told, now);
          // Now and then a turn is missed.
          if (asked.number % 5 !== 2) state = afterAnswer(law, state, asked, now);
          told = nextMoment(law, state, now + 1);
        }
        assert.equal(told === null, state.answers >= answersMax);
      }
    }
  }
});

test("a cap that refuses answers of a series is told to the developer", () => {
  const law = { start: 0, periodS: 86_400, slots: 7, lateS: 86_400, answersMax: 52, valueOf: "previous", kind: "rotating" };
  const manifest = { assignment: law, rounds: [{ guarantee: { nano: 1_000_000_000n } }] } as any;
  const caps = (perPeriod: string, periodDays: number) => Caps.of({ perPeriod, periodDays, lifetime: "1000" });
  assert.equal(capConflict(manifest, caps("5", 28)), null);
  // The sentence of the Python SDK.
  assert.equal(capConflict(manifest, caps("4", 28)), CONFLICT);
  assert.equal(capConflict(manifest, caps("4", 26)), null);
});

test("the newest eight parts are kept, up to 4 MiB, and the newest in any case", () => {
  const state = emptyState();
  const part = (number: number) => keepPart(state, digestOf(Uint8Array.of(number)), Uint8Array.of(number));
  const names = () => Object.values(state.parts).map((digits) => fromHex(digits.slice(0, 2))[0]);
  const grow = (number: number, bytes: number) => {
    state.parts[toHex(digestOf(Uint8Array.of(number)))] += "0".repeat(2 * bytes);
  };
  for (let number = 1; number <= 10; number++) part(number);
  assert.deepEqual(names(), [3, 4, 5, 6, 7, 8, 9, 10]);
  part(4);
  assert.deepEqual(names(), [3, 5, 6, 7, 8, 9, 10, 4]);
  grow(9, 3 << 20);
  part(11);
  assert.deepEqual(names(), [5, 6, 7, 8, 9, 10, 4, 11]);
  grow(4, 1 << 20);
  part(12);
  assert.deepEqual(names(), [10, 4, 11, 12]);
});

const CBOR = { headers: { "content-type": "application/cbor" } };
const CONFLICT = 
  "the cap has room for 4 answers in 28 days, and this series may draw 5: the others are refused. " +
  "ε 5 in 28 days refuses none, nor does ε 4 in 26 days";
