/** Rules under random histories: clocks that jump and are set back, crashes, any answer of a server. Seeded. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { BudgetExceeded, SordinoError } from "../src/errors.ts";
import { emptyState, type LedgerState } from "../src/ledgers/ledger.ts";
import { expire, leave, record, type Terms } from "../src/rules/answering.ts";
import { Caps } from "../src/rules/caps.ts";
import { readOutcome } from "../src/rules/retry.ts";
import { afterAnswer, firstState, toAnswer } from "../src/rules/series.ts";

const HISTORIES = Number(process.env["SORDINO_HISTORIES"] ?? 60);
const STEPS = 120;
const DAY_S = 86_400;
const NANO = 10n ** 9n;
const RETRY = { minS: 0, maxS: 3600 };

/** Whole numbers from 0 to below `bound`, the same for one seed (xorshift32). */
class Chosen {
  private word: number;

  constructor(seed: number) {
    this.word = 2_654_435_761 * (seed + 1);
  }

  below(bound: number): number {
    this.word ^= this.word << 13;
    this.word ^= this.word >>> 17;
    this.word ^= this.word << 5;
    return (this.word >>> 0) % bound;
  }

  of<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }
}

/** A device's ledger and clock, and all that it ever spent: what a crash takes back was never told to anybody. */
class History {
  state: LedgerState = emptyState();
  clock = 1_800_000_000;
  readonly caps: Caps;
  readonly laws: readonly any[];
  /** Which caps refused an answer. */
  readonly refused = new Set<string>();
  private readonly chosen: Chosen;

  constructor(seed: number) {
    this.chosen = new Chosen(seed);
    const chosen = this.chosen;
    const perPeriod = 1 + chosen.below(3);
    const terms = { perPeriod: String(perPeriod), periodDays: 1 + chosen.below(28) };
    this.caps = Caps.of({ ...terms, lifetime: String(perPeriod + chosen.below(3)) });
    this.laws = [0, 1, 2].map((campaign) => (campaign ? this.drawnLaw() : null));
    this.laws.forEach((law, campaign) => {
      const series = law && firstState(chosen.below(law.slots), RETRY);
      this.state.campaigns[campaign] = { series, task: null, leftAt: null } as any;
    });
  }

  step(): void {
    const actions = [this.answer, this.answer, this.answer, this.wait, this.wait, this.setBack, this.crash, this.upload];
    // Leaving ends most of a history: one step of 64.
    const action = this.chosen.below(64) ? this.chosen.of(actions) : this.leaveOne;
    action.call(this);
    this.check();
  }

  private drawnLaw() {
    const [slots, periodS] = [1 + this.chosen.below(4), this.chosen.of([3600, DAY_S, 7 * DAY_S])];
    const start = this.clock - this.chosen.below(30 * DAY_S);
    const ends = { answersMax: 1 + this.chosen.below(12), lateS: this.chosen.below(periodS), valueOf: this.chosen.of(["current", "previous"]) };
    return { kind: "rotating", start, periodS, slots, replaces: null, ...ends };
  }

  /** One transaction: all of it, or nothing where it throws or the process is killed before its commit. */
  private transaction(work: (state: LedgerState) => void): void {
    const draft = structuredClone(this.state);
    try {
      work(draft);
    } catch (error) {
      if (!(error instanceof SordinoError)) throw error;
      if (error instanceof BudgetExceeded) this.refused.add(error.scope);
      return;
    }
    if (this.chosen.below(8)) this.state = draft;
  }

  private answer(): void {
    const campaign = this.chosen.below(this.laws.length);
    const law = this.laws[campaign];
    const now = Math.floor(this.clock);
    this.transaction((state) => {
      const joined = state.campaigns[campaign]!;
      const asked = law && toAnswer(law, joined.series!, now);
      if (typeof asked === "string") return;
      const round = asked ? asked.number : this.chosen.below(8);
      const nano = NANO / BigInt(1 + this.chosen.below(4));
      const about = { campaign: String(campaign), round, nano, device: this.device(campaign), isSealed: false };
      const times = { periodStart: asked?.start ?? null, expiresAt: now + this.chosen.below(DAY_S), retry: RETRY };
      const found = record(state, { ...about, ...times, report: () => new Uint8Array(1) }, this.terms());
      if (found === "recorded" && asked) joined.series = afterAnswer(law, joined.series!, asked, now);
    });
  }

  private device(campaign: number): bigint {
    return NANO * BigInt(this.laws[campaign]?.answersMax ?? 2);
  }

  private terms(): Terms {
    const until = this.chosen.below(6) ? null : this.clock + this.chosen.below(3) - 1;
    return { caps: this.caps, clock: this.clock, until, spoolLimit: 5, dryRun: !this.chosen.below(10) };
  }

  private wait(): void {
    this.clock += this.chosen.of([0.25, 60, 3600, DAY_S, 10 * DAY_S]) * this.chosen.below(4);
    this.transaction((state) => expire(state, this.clock));
  }

  private setBack(): void {
    this.clock = Math.max(0, this.clock - this.chosen.of([1, 3600, 3 * DAY_S, 40 * DAY_S]));
  }

  /** The next process has what the ledger has. */
  private crash(): void {
    this.state = JSON.parse(JSON.stringify(this.state)) as LedgerState;
  }

  private upload(): void {
    this.transaction((state) => {
      const sent = state.reports[0];
      if (!sent) return;
      const status = this.chosen.of([200, 302, 400, 401, 404, 429, 500, 503]);
      const type = this.chosen.of(["round-not-open", "not-found", "rate-limited", ""]);
      const content = new TextEncoder().encode(JSON.stringify({ type: `/problems/${type}` }));
      const answer = { status, headers: new Headers({ "content-type": "application/problem+json" }), content };
      if (readOutcome(answer, sent, this.clock).kind !== "later") state.reports.shift();
    });
  }

  private leaveOne(): void {
    const campaign = String(this.chosen.below(this.laws.length));
    this.transaction((state) => leave(state, campaign, this.clock));
  }

  private check(): void {
    const { debits, reports, latest } = this.state;
    const named = debits.map(({ campaign, round }) => `${campaign} ${round}`);
    assert.equal(new Set(named).size, named.length, "a round is answered twice");
    for (const { campaign, round } of reports) assert.ok(named.includes(`${campaign} ${round}`), "a report without debit");
    assert.ok(sum(debits) <= this.caps.lifetime, "the cap for life");
    this.laws.forEach((_, campaign) => {
      assert.ok(sum(debits.filter((debit) => debit.campaign === String(campaign))) <= this.device(campaign), "a campaign's ε");
    });
    debits.forEach(({ at }, last) => {
      assert.ok(at <= latest && (!last || debits[last - 1]!.at <= at), "times go back");
      const period = debits.filter((debit) => debit.at > at - this.caps.periodS && debit.at <= at);
      assert.ok(sum(period) <= this.caps.perPeriod, "the cap of a period");
    });
  }
}

function sum(debits: readonly { nano: string }[]): bigint {
  return debits.reduce((all, { nano }) => all + BigInt(nano), 0n);
}

test("no history spends more than the caps, or answers a round twice", () => {
  let answers = 0;
  const refused: string[] = [];
  for (let seed = 0; seed < HISTORIES; seed++) {
    const history = new History(seed);
    for (let at = 0; at < STEPS; at++) history.step();
    answers += history.state.debits.length;
    refused.push(...history.refused);
  }
  // The histories are such that much is answered, and each cap refuses some.
  assert.ok(answers > 2 * HISTORIES, `${answers} answers`);
  for (const scope of ["campaign", "period", "lifetime"]) {
    assert.ok(refused.filter((each) => each === scope).length > 2, scope);
  }
});
