/** A server that lies, floods or breaks off: an error of the SDK's own, nothing spent, nothing final, no byte too many. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client } from "../src/client.ts";
import * as errors from "../src/errors.ts";
import { MemoryLedger } from "../src/ledgers/memory.ts";
import { Caps } from "../src/rules/caps.ts";
import { ADDRESS, cbor, NOW, problem, World } from "./world.ts";

const CAPS = Caps.of({ perPeriod: "1", periodDays: 28, lifetime: "12" });
const CBOR = { "content-type": "application/cbor" };
const PAGES: Record<string, () => Response | Error> = {
  "a login page": () => new Response("<html>log in</html>", { headers: { "content-type": "text/html" } }),
  "an empty answer": () => cbor(new Uint8Array()),
  "an answer of no type that is no document": () => new Response(new Uint8Array([0xff])),
  "a tag": () => cbor(Uint8Array.of(0xc0, 0x00)),
  "an array of 2^63 items": () => cbor(Uint8Array.of(0x9b, 0x7f, ...new Array<number>(7).fill(255))),
  "a million empty arrays": () => cbor(new Uint8Array(1 << 20).fill(0x80)),
  "arrays in arrays": () => cbor(new Uint8Array(60_000).fill(0x81)),
  "a redirect that was not followed": () => new TypeError("fetch failed: redirect mode is set to error"),
  "an error of the server": () => problem(500, "internal-error"),
  "an error that is no problem": () => new Response("{", { status: 502, headers: { "content-type": "application/json" } }),
  "a problem of the wrong shape": () => new Response("[[]]", { status: 409, headers: { "content-type": "application/json" } }),
  "a body that breaks off": () => new Response(broken(), { headers: CBOR }),
};

/** A body that ends in an error after a few bytes. */
function broken(): ReadableStream {
  let given = 0;
  return new ReadableStream({
    pull(controller) {
      if (given++) controller.error(new Error("the connection broke"));
      else controller.enqueue(new Uint8Array(16));
    },
  });
}

function opened(world: World): Promise<Client> {
  const options = { server: ADDRESS, ledger: new MemoryLedger(), caps: CAPS, fetch: world.fetch, now: () => NOW };
  return Client.open(options);
}

function isOwn(error: unknown): boolean {
  return error instanceof errors.PlanRefused || error instanceof errors.PlanUnavailable;
}

for (const [what, page] of Object.entries(PAGES)) {
  test(`${what} in the place of a document`, async () => {
    for (const place of ["/campaigns/[0-9a-f]{64}$", "/task$", "/plans/"]) {
      const world = new World();
      const client = await opened(world);
      const instead = (path: string) => (new RegExp(place).test(path) ? page() : null);
      if (place.startsWith("/campaigns")) {
        world.instead = instead;
        await assert.rejects(client.join(world.campaign), isOwn);
        continue;
      }
      // Joined without what answers need: it is asked for again.
      world.instead = (path) => (/task$|plans/.test(path) ? new Error("offline") : null);
      await client.join(world.campaign);
      world.instead = instead;
      await assert.rejects(client.answer(world.campaign, "yes"), isOwn, place);
      assert.equal((await client.account()).lifetime, 0n);
    }
  });

  test(`${what} in answer to a report is not final`, async () => {
    const world = new World();
    const client = await opened(world);
    await client.answer(await client.join(world.campaign), "yes");
    world.instead = (path) => (path.endsWith("/reports") ? page() : null);
    const { delivered, refused, waiting } = await client.flush({ patienceS: 0 });
    assert.deepEqual([delivered, refused, waiting], [0, [], 1]);
  });
}

test("outcomes that do not add up to the one report are not final", async () => {
  const { reportOutcomes } = await import("../src/documents/outcomes.ts");
  for (const [accepted, replayed] of [[2, 0], [1, 1], [0, 4096]] as const) {
    const world = new World();
    const client = await opened(world);
    await client.answer(await client.join(world.campaign), "yes");
    world.instead = (path) => (path.endsWith("/reports") ? cbor(reportOutcomes.write({ accepted, replayed, refused: [] })) : null);
    assert.equal((await client.flush({ patienceS: 0 })).waiting, 1);
  }
});

test("what no server may ask for: a Retry-After of years, and a Date that is none", async () => {
  for (const headers of [{ "retry-after": "99999999999999999999" }, { "retry-after": "Fri, 31 Dec 9999 23:59:59 GMT" }, { "retry-after": "-5" }]) {
    const world = new World();
    const client = await opened(world);
    await client.answer(await client.join(world.campaign), "yes");
    world.instead = (path) => (path.endsWith("/reports") ? problem(503, "overloaded", headers) : null);
    const { retryInS } = await client.flush({ patienceS: 0 });
    assert.ok(retryInS! <= 2 * 86_400, JSON.stringify(headers));
  }
});
