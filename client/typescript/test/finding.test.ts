/** Campaigns of a population's list: looked at once a day, whole, and decided by manifests alone. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { compareBytes, fromHex, toHex } from "../src/bytes.ts";
import { Client } from "../src/client.ts";
import { openCampaigns } from "../src/documents/finding.ts";
import type { Manifest } from "../src/documents/manifest.ts";
import * as errors from "../src/errors.ts";
import { MemoryLedger } from "../src/ledgers/memory.ts";
import { Caps } from "../src/rules/caps.ts";
import { ADDRESS, cbor, NOW, problem, World } from "./world.ts";

const DAY = 86_400;
const CAPS = Caps.of({ perPeriod: "12", periodDays: 28, lifetime: "12" });

/** A server of several campaigns with their list. */
class Listing {
  readonly worlds: World[];
  readonly asked: string[] = [];
  number = 1;
  now = NOW;
  isOnline = true;
  population: string;

  constructor(...changes: Partial<Manifest>[]) {
    this.worlds = changes.map((each) => new World(each));
    this.population = "devices";
  }

  readonly fetch = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const path = String(url).slice(ADDRESS.length);
    this.asked.push(path);
    if (!this.isOnline) throw new Error("offline");
    if (path.startsWith("/v1/populations/")) return cbor(this.list());
    const world = this.worlds.find(({ campaign }) => path.includes(campaign)) ?? this.worlds[0]!;
    return world.fetch(url, init);
  };

  list() {
    const campaigns = this.worlds.map(({ campaign }) => fromHex(campaign)).sort(compareBytes);
    return openCampaigns.write({ population: this.population, number: this.number, campaigns });
  }

  client(more: object = {}): Promise<Client> {
    const options = { server: ADDRESS, ledger: new MemoryLedger(), caps: CAPS, fetch: this.fetch as typeof fetch };
    return Client.open({ ...options, now: () => this.now, ...more });
  }
}

function asking(purpose: string, more: Partial<Manifest> = {}): Partial<Manifest> {
  return { purpose, population: "devices", ...more };
}

test("a list is looked at once in 24 hours, at a time of its own", async () => {
  const listing = new Listing(asking("one"));
  const client = await listing.client();
  const first = await client.find("devices", { accept: () => true });
  assert.ok(!first.looked && first.nextInS > 0 && first.nextInS <= DAY);
  assert.equal(listing.asked.length, 0);
  listing.now += first.nextInS;
  listing.isOnline = false;
  await assert.rejects(client.find("devices", { accept: () => true }), errors.PlanUnavailable);
  listing.isOnline = true;
  const found = await client.find("devices", { accept: () => true });
  assert.deepEqual(found.joined, [listing.worlds[0]!.campaign]);
  assert.equal(listing.asked.filter((path) => path.includes("populations")).length, 2);
  // The next window begins 24 hours after the first.
  assert.ok(found.nextInS > 0 && found.nextInS <= 2 * DAY);
  assert.ok(!(await client.find("devices", { accept: () => true })).looked);
  assert.equal((await client.answer(found.joined[0]!, "yes")).status, "recorded");
});

test("every manifest is fetched before the app decides, and repeats are left out", async () => {
  const listing = new Listing(asking("How  many?"), asking("HOW MANY?", { name: "again" }), asking("other", { name: "no" }),
    asking("tokens", { servers: [{ name: "eu", urls: ["https://eu.example"] }] }));
  const client = await listing.client();
  listing.now += (await client.find("devices", { accept: () => true })).nextInS;
  const seen: string[] = [];
  const accept = ({ name, purpose }: Manifest) => {
    const fetched = listing.asked.filter((path) => /campaigns.[0-9a-f]{64}$/.test(path));
    assert.equal(fetched.length, 4);
    seen.push(purpose);
    return name !== "no";
  };
  const found = await client.find("devices", { accept });
  // All of them have one plan, so that two of one domain ask the same.
  assert.deepEqual([found.joined.length, found.repeated.length, found.declined.length, found.refused.length], [1, 1, 1, 1]);
  assert.equal(seen.length, 3);
});

test("no more are joined than a period allows, and a number never falls", async () => {
  const listing = new Listing(asking("one"), asking("two"), asking("three"));
  const client = await listing.client({ joinsPerPeriod: 2 });
  const look = async () => {
    listing.now += (await client.find("devices", { accept: () => true, allowRepeats: true })).nextInS;
    return client.find("devices", { accept: () => true, allowRepeats: true });
  };
  const first = await look();
  assert.deepEqual([first.joined.length, first.postponed.length], [2, 1]);
  listing.now += DAY;
  listing.number = 0;
  await assert.rejects(look(), /its number is 0, and 1 was seen before/);
  listing.now += DAY;
  listing.number = 1;
  listing.worlds.pop();
  await assert.rejects(look(), /another list had its number 1/);
  listing.now += 29 * DAY;
  listing.population = "others";
  await assert.rejects(look(), /another population/);
});

test("wrong arguments and wrong lists are refused in words", async () => {
  const client = await new Listing(asking("one")).client();
  for (const name of ["", ".", "a/b", "\ud800"]) {
    await assert.rejects(client.find(name, { accept: () => true }), errors.WrongArgument);
  }
  await assert.rejects(client.find("devices", {} as any), errors.WrongArgument);
  const foreign = new Listing({ purpose: "one", population: "others" });
  const other = await foreign.client();
  foreign.now += (await other.find("devices", { accept: () => true })).nextInS;
  await assert.rejects(other.find("devices", { accept: () => true }), /asks another population/);
  const { campaigns } = openCampaigns.read(foreign.list());
  assert.deepEqual(campaigns.map(toHex), [foreign.worlds[0]!.campaign]);
});

test("a campaign that two tabs join at once counts once, and what it would need later does not end the call", async () => {
  const listing = new Listing(asking("one"), asking("two"));
  const ledger = new MemoryLedger();
  const tabs = [await listing.client({ ledger, joinsPerPeriod: 2 }), await listing.client({ ledger, joinsPerPeriod: 2 })];
  listing.now += (await tabs[0]!.find("devices", { accept: () => true })).nextInS;
  // Both begin before the first has looked; every plan is another one than its digest names.
  for (const world of listing.worlds) {
    world.instead = (path) => (path.startsWith("/v1/plans/") ? cbor(new TextEncoder().encode("no plan")) : null);
  }
  const found = await Promise.all(tabs.map((tab) => tab.find("devices", { accept: () => true, allowRepeats: true })));
  const ids = listing.worlds.map(({ campaign }) => campaign).sort();
  for (const { looked, joined, postponed } of found) if (looked) assert.deepEqual([[...joined].sort(), postponed], [ids, []]);
  assert.ok(found.some(({ looked }) => looked));
});

test("a signature that cannot be fetched is no refusal", async () => {
  const listing = new Listing(asking("one"));
  const client = await listing.client({ manifestKeys: ["ab".repeat(32)] });
  listing.now += (await client.find("devices", { accept: () => true })).nextInS;
  listing.worlds[0]!.instead = (path) => (path.endsWith("/signature") ? problem(503, "overloaded") : null);
  await assert.rejects(client.find("devices", { accept: () => true }), errors.PlanUnavailable);
  listing.worlds[0]!.instead = null;
  listing.now += 2 * DAY;
  assert.deepEqual((await client.find("devices", { accept: () => true })).refused, [listing.worlds[0]!.campaign]);
});
