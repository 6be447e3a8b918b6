/** Caps and series: pure rules, at the times that the vectors say. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { rotating } from "../src/documents/series.ts";
import { BudgetExceeded } from "../src/errors.ts";
import { emptyState, type SeriesState } from "../src/ledgers/ledger.ts";
import { leave, record } from "../src/rules/answering.ts";
import { Caps, debitTime, spending } from "../src/rules/caps.ts";
import { serverTime } from "../src/rules/http_dates.ts";
import {
  acceptedFrom,
  acceptedUntil,
  afterAnswer,
  askedAt,
  epochOf,
  firstState,
  mostAnswers,
  mostDrawn,
  mostReports,
  numberAt,
  periodOf,
  toAnswer,
} from "../src/rules/series.ts";
import { plain, vectors } from "./vectors.ts";

test("a server's time is Greenwich's, however its Date is written", () => {
  const { TZ } = process.env;
  process.env["TZ"] = "Asia/Tokyo";
  try {
    for (const date of ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]) {
      const headers = new Headers({ date, age: "3" });
      assert.equal(serverTime({ status: 200, headers, content: new Uint8Array() }), 784_111_780, date);
    }
  } finally {
    if (TZ === undefined) delete process.env["TZ"];
    else process.env["TZ"] = TZ;
  }
});

const RETRY = { minS: 0, maxS: 0 };

function lawOf(assignment: any) {
  const map = plain(assignment) as Map<string, any>;
  map.delete("kind");
  return rotating.read(map, "");
}

test("the arithmetic of a series", () => {
  for (const each of vectors("good/series").arithmetic) {
    const law = lawOf(each.assignment);
    for (const { number, start, end, accepted_from, accepted_until, epoch } of each.periods) {
      assert.deepEqual(periodOf(law, number), { number, start, end });
      assert.deepEqual([acceptedFrom(law, number), acceptedUntil(law, number)], [accepted_from, accepted_until]);
      assert.equal(epochOf(number), epoch);
    }
    for (const { now, number, asked } of each.times) {
      assert.equal(numberAt(law, now), number);
      assert.equal(askedAt(law, each.phase, now)?.number ?? null, asked);
    }
    for (const { periods, most_answers, most_reports } of each.windows) {
      assert.deepEqual([mostAnswers(law, periods), mostReports(law, periods)], [most_answers, most_reports]);
    }
    for (const { seconds, most_drawn } of each.drawn) assert.equal(mostDrawn(law, seconds), most_drawn);
  }
});

test("what a device in a series does at each second", () => {
  for (const { assignment, phase, tries } of vectors("good/series").devices) {
    const law = lawOf(assignment);
    let state: SeriesState = firstState(phase, RETRY);
    for (const { now, answers, next_period, next_at } of tries) {
      const asked = toAnswer(law, state, now);
      assert.equal(typeof asked === "string" ? null : asked.number, answers, `${now}`);
      if (typeof asked !== "string") state = afterAnswer(law, state, asked, now);
      assert.deepEqual([state.nextPeriod, state.nextAt], [next_period, next_at], `${now}`);
    }
  }
});

for (const script of JSON.parse(JSON.stringify(vectors("good/caps")))) {
  test(`caps: ${script.name}`, () => {
    const decimal = (nano: number) => `${Math.floor(nano / 1e9)}.${String(nano % 1e9).padStart(9, "0")}`;
    const { per_period, period_s, lifetime } = script.caps;
    const caps = Caps.of({ perPeriod: decimal(per_period), periodDays: period_s / 86_400, lifetime: decimal(lifetime) });
    const nano = BigInt(script.nano);
    const state = emptyState();
    const series = script.campaigns.map(({ assignment, phase }: any) =>
      assignment.kind === "rotating" ? { law: lawOf(assignment), state: firstState(phase ?? 0, RETRY) } : null,
    );
    for (const each of script.tries) {
      const clock = typeof each.clock === "number" ? each.clock : each.clock.value;
      assert.equal(tried(each.campaign, clock), each.outcome, JSON.stringify(each));
      const [, period] = spending(state, "", caps, debitTime(state, clock));
      assert.equal(period, BigInt(each.spent_in_period), JSON.stringify(each));
      if (each.outcome === "recorded") assert.equal(state.debits.at(-1)!.at, each.at);
    }

    function tried(campaign: number, clock: number): string {
      const own = series[campaign];
      const now = Math.floor(clock);
      const asked = own && toAnswer(own.law, own.state, now);
      if (typeof asked === "string") return "not_asked";
      const round = asked?.number ?? 0;
      const device = nano * BigInt(own?.law.answersMax ?? 1);
      const about = { campaign: String(campaign), round, nano, device, expiresAt: null, isSealed: false, periodStart: asked?.start ?? null };
      const draw = { ...about, retry: { minS: 0, maxS: 0 }, report: () => new Uint8Array() };
      try {
        const found = record(state, draw, { caps, clock, until: null, spoolLimit: 10_000, dryRun: false });
        if (found === "recorded" && asked) own.state = afterAnswer(own.law, own.state, asked, now);
        return found === "recorded" ? found : "not_asked";
      } catch (error) {
        if (error instanceof BudgetExceeded) return `refused_${error.scope}`;
        throw error;
      }
    }
  });
}

test("caps are decimal text, rounded down", () => {
  const caps = Caps.of({ perPeriod: "0.9999999999", periodDays: 28, lifetime: "12" });
  assert.deepEqual([caps.perPeriod, caps.lifetime], [999_999_999n, 12_000_000_000n]);
  for (const wrong of ["", "1e3", "-1", "0", "1001", "٣", 1 as unknown as string]) {
    assert.throws(() => Caps.of({ perPeriod: wrong, periodDays: 28, lifetime: "12" }), { code: "wrong-argument" });
  }
  assert.throws(() => Caps.of({ perPeriod: "13", periodDays: 28, lifetime: "12" }), /above the cap for life/);
});

test("who leaves a campaign keeps no token of it", () => {
  const drawn = { secret: "00", blind: "01", token: null };
  const [left, other] = ["a".repeat(64), "b".repeat(64)];
  const state = { ...emptyState(), tokens: { [`${left} 0`]: drawn, [`${left} 11`]: drawn, [`${other} 0`]: drawn } };
  leave(state, left, 0);
  assert.deepEqual(Object.keys(state.tokens), [`${other} 0`]);
  leave(emptyState(), left, 0);
});
