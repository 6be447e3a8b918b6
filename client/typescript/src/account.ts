/** What this device joined, spent and left, for its owner. */

import { decimal } from "./bytes.ts";
import { load } from "./chunks.ts";
import type { Manifest } from "./documents/manifest.ts";
import type { Device } from "./device.ts";
import type { Joined, Ledger, LedgerState } from "./ledgers/ledger.ts";
import { expire } from "./rules/answering.ts";
import { type Caps, debitTime, spending } from "./rules/caps.ts";
import type { MixedGuarantee } from "./shuffled/reports.ts";
import { duration, quantity, unitOf } from "./words.ts";

/** One campaign of the account; ε in nano-ε. */
export interface AccountCampaign {
  readonly campaign: string;
  readonly name: string;
  readonly spent: bigint;
  readonly answers: number;
  readonly waiting: number;
  readonly optedOut: boolean;
  /** How often a series asks, in words; null for any other campaign. */
  readonly series: string | null;
  /** What holds against the collector alone, about one answer, where a shuffler mixes random answers in. */
  readonly mixed: MixedGuarantee | null;
  /** The same of all answers of the device, in words; null where there is one at most. */
  readonly several: string | null;
}

/** A campaign's manifest, and what is mixed in. */
interface Terms {
  readonly manifest: Manifest;
  readonly mixed: MixedGuarantee | null;
}

/** The account of a device's ledger, now. */
export async function accountOf(device: Device): Promise<Account> {
  const state = await device.transaction((each) => {
    expire(each, device.clock());
    return structuredClone(each);
  });
  const terms = new Map<string, Terms>();
  for (const [id, joined] of Object.entries(state.campaigns)) {
    const manifest = await device.manifestOf(id, joined);
    const mixed = manifest.route.kind === "shuffled" ? (await load("shuffled")).mixedGuarantee(manifest) : null;
    terms.set(id, { manifest, mixed });
  }
  return new Account(state, terms, device.options.caps, device.clock(), device.ledger);
}

/** The whole account; `String(account)` is for people. */
export class Account {
  readonly campaigns: readonly AccountCampaign[];
  readonly period: bigint;
  readonly lifetime: bigint;
  readonly caps: Caps;
  readonly optedOutOfAll: boolean;
  readonly persistence: Ledger["persistence"];

  constructor(state: LedgerState, terms: Map<string, Terms>, caps: Caps, clock: number, ledger: Ledger) {
    this.caps = caps;
    this.persistence = ledger.persistence;
    this.optedOutOfAll = state.leftAllAt !== null;
    [, this.period, this.lifetime] = spending(state, "", caps, debitTime(state, clock));
    this.campaigns = Object.entries(state.campaigns).map(([campaign, joined]) => {
      const { manifest, mixed } = terms.get(campaign)!;
      const answers = state.debits.filter((debit) => debit.campaign === campaign).length;
      return {
        campaign,
        name: manifest.name,
        spent: spending(state, campaign, caps, 0)[0],
        answers,
        waiting: state.reports.filter((report) => report.campaign === campaign).length,
        optedOut: joined.leftAt !== null || this.optedOutOfAll,
        series: seriesLine(manifest, joined),
        mixed,
        several: mixed && severalLine(mixed, manifest, answers),
      };
    });
  }

  toString(): string {
    const { perPeriod, periodDays, lifetime } = this.caps;
    const kept = { durable: "", evictable: "The browser may delete this account.", memory: "This account is not kept." };
    const lines = this.campaigns.flatMap(({ name, spent, answers, waiting, optedOut, series, mixed, several }) => [
      `${name}: ε ${decimal(spent)} in ${answers} answers, ${waiting} waiting${optedOut ? ", left" : ""}`,
      ...(series && !optedOut ? [`  series: ${series}`] : []),
      ...(mixed ? [`  each answer: ${mixed}`] : []),
      ...(several ? [`  against the collector: ${several}`] : []),
    ]);
    lines.push(`in ${periodDays} days: ε ${decimal(this.period)} of ${decimal(perPeriod)}`);
    lines.push(`for life: ε ${decimal(this.lifetime)} of ${decimal(lifetime)}`);
    return [...lines, ...(kept[this.persistence] ? [kept[this.persistence]] : [])].join("\n");
  }
}

/** What all answers of a device give the collector: those of a series, or those that were given. */
function severalLine(mixed: MixedGuarantee, { assignment }: Manifest, answers: number): string | null {
  const count = assignment.kind === "rotating" ? assignment.answersMax : answers;
  return count > 1 ? `${mixed.ofAnswers(count)} for all ${count} answers` : null;
}

/** How often a series asks: at most so much ε about any of its turns, and how many answers it has had. */
function seriesLine({ assignment, rounds }: Manifest, { series }: Joined): string | null {
  if (assignment.kind !== "rotating" || !series) return null;
  const { periodS, slots, answersMax, valueOf, lateS } = assignment;
  const unit = unitOf(periodS);
  const turn =
    slots === 1
      ? `any ${unit ?? `period of ${duration(periodS)}`}`
      : `any ${unit ? quantity(slots, unit) : `${slots} periods of ${duration(periodS)}`} in a row`;
  // A late answer may come before an early one.
  const apartS = (slots - 1) * periodS - (valueOf === "previous" && slots > 1 ? lateS : 0);
  const apart = apartS ? `, at least ${duration(apartS)} apart` : "";
  const isOver = series.ended || series.replacedBy !== undefined || series.answers >= answersMax;
  const given = `${series.answers} of ${quantity(answersMax, "answer")} given${isOver ? " (over)" : ""}`;
  return `at most ε ${decimal(rounds[0]!.guarantee.nano)} about ${turn}${apart}, ${given}`;
}
