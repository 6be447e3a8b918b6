/** What this device joined, spent and left, for its owner. */

import { decimal } from "./bytes.ts";
import type { Manifest } from "./documents/manifest.ts";
import type { Device } from "./device.ts";
import type { Ledger, LedgerState } from "./ledgers/ledger.ts";
import { expire } from "./rules/answering.ts";
import { type Caps, debitTime, spending } from "./rules/caps.ts";

/** One campaign of the account; ε in nano-ε. */
export interface AccountCampaign {
  readonly campaign: string;
  readonly name: string;
  readonly spent: bigint;
  readonly answers: number;
  readonly waiting: number;
  readonly optedOut: boolean;
}

/** The account of a device's ledger, now. */
export async function accountOf(device: Device): Promise<Account> {
  const state = await device.transaction((each) => {
    expire(each, device.clock());
    return structuredClone(each);
  });
  const names = new Map<string, Manifest>();
  for (const [id, joined] of Object.entries(state.campaigns)) names.set(id, await device.manifestOf(id, joined));
  return new Account(state, names, device.options.caps, device.clock(), device.ledger);
}

/** The whole account; `String(account)` is for people. */
export class Account {
  readonly campaigns: readonly AccountCampaign[];
  readonly period: bigint;
  readonly lifetime: bigint;
  readonly caps: Caps;
  readonly optedOutOfAll: boolean;
  readonly persistence: Ledger["persistence"];

  constructor(state: LedgerState, names: Map<string, Manifest>, caps: Caps, clock: number, ledger: Ledger) {
    this.caps = caps;
    this.persistence = ledger.persistence;
    this.optedOutOfAll = state.leftAllAt !== null;
    [, this.period, this.lifetime] = spending(state, "", caps, debitTime(state, clock));
    this.campaigns = Object.entries(state.campaigns).map(([campaign, { leftAt }]) => ({
      campaign,
      name: names.get(campaign)!.name,
      spent: spending(state, campaign, caps, 0)[0],
      answers: state.debits.filter((debit) => debit.campaign === campaign).length,
      waiting: state.reports.filter((report) => report.campaign === campaign).length,
      optedOut: leftAt !== null || this.optedOutOfAll,
    }));
  }

  toString(): string {
    const { perPeriod, periodDays, lifetime } = this.caps;
    const kept = { durable: "", evictable: "The browser may delete this account.", memory: "This account is not kept." };
    const lines = this.campaigns.map(
      ({ name, spent, answers, waiting, optedOut }) =>
        `${name}: ε ${decimal(spent)} in ${answers} answers, ${waiting} waiting${optedOut ? ", left" : ""}`,
    );
    lines.push(`in ${periodDays} days: ε ${decimal(this.period)} of ${decimal(perPeriod)}`);
    lines.push(`for life: ε ${decimal(this.lifetime)} of ${decimal(lifetime)}`);
    return [...lines, ...(kept[this.persistence] ? [kept[this.persistence]] : [])].join("\n");
  }
}
