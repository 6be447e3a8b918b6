/** The owner's caps, and what recorded debits leave of them. Integers of nano-ε; nothing is ever refunded. */

import { BudgetExceeded, WrongArgument } from "../errors.ts";
import type { LedgerState } from "../ledgers/ledger.ts";
import { MAX_NANO, NANO } from "../randomizers/epsilon.ts";

const DAY_S = 86_400;
const WRITTEN = /^([0-9]{1,4})(?:\.([0-9]+))?$/;

/** At most `perPeriod` in any `periodDays` days and `lifetime` ever, over all campaigns of one ledger. */
export class Caps {
  readonly perPeriod: bigint;
  readonly periodDays: number;
  readonly lifetime: bigint;

  private constructor(perPeriod: bigint, periodDays: number, lifetime: bigint) {
    this.perPeriod = perPeriod;
    this.periodDays = periodDays;
    this.lifetime = lifetime;
  }

  /** From ε as decimal text, rounded down to nano-ε: `Caps.of({ perPeriod: "1", periodDays: 28, lifetime: "12" })`. */
  static of({ perPeriod, periodDays, lifetime }: { perPeriod: string; periodDays: number; lifetime: string }): Caps {
    if (!Number.isInteger(periodDays) || periodDays < 1 || periodDays > 3660) {
      throw new WrongArgument("periodDays is a whole number from 1 to 3660");
    }
    const [period, life] = [nanoOf(perPeriod), nanoOf(lifetime)];
    if (period > life) throw new WrongArgument("the cap of a period is above the cap for life");
    return new Caps(period, periodDays, life);
  }

  get periodS(): number {
    return this.periodDays * DAY_S;
  }
}

/** ε as decimal text in nano-ε, rounded down. */
function nanoOf(epsilon: string): bigint {
  const found = typeof epsilon === "string" ? WRITTEN.exec(epsilon.trim()) : null;
  if (!found) throw new WrongArgument('ε is written as decimal text, such as "0.5"');
  const nano = BigInt(found[1]!) * NANO + BigInt((found[2] ?? "").padEnd(9, "0").slice(0, 9));
  if (nano < 1n || nano > MAX_NANO) throw new WrongArgument("ε of a cap is from 1e-9 to 1000");
  return nano;
}

/** Σ nano-ε of the debits of one campaign, of the running period, and of the ledger's life. */
export function spending(state: LedgerState, campaign: string, caps: Caps, now: number): [bigint, bigint, bigint] {
  let [own, period, lifetime] = [0n, 0n, 0n];
  for (const debit of state.debits) {
    const nano = BigInt(debit.nano);
    lifetime += nano;
    if (debit.at > now - caps.periodS) period += nano;
    if (debit.campaign === campaign) own += nano;
  }
  return [own, period, lifetime];
}

/** The time of a debit that is made now: the clock rounded up, or the latest time of any debit if that is later. */
export function debitTime(state: LedgerState, clock: number): number {
  return Math.max(Math.ceil(clock), state.latest);
}

/** Throws BudgetExceeded where a charge would pass the campaign's ε or a cap. */
export function checkBudget(
  state: LedgerState,
  campaign: string,
  charge: bigint,
  { caps, device, now }: { caps: Caps; device: bigint; now: number },
): void {
  const spent = spending(state, campaign, caps, now);
  const limits = [device, caps.perPeriod, caps.lifetime];
  (["campaign", "period", "lifetime"] as const).forEach((scope, at) => {
    if (spent[at]! + charge > limits[at]!) throw new BudgetExceeded(scope, charge, spent[at]!, limits[at]!);
  });
}
