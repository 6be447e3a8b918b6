/** An answer as a step of the ledger: judged, drawn and written together, so that nobody can do it twice. */

import { joined as joinedBytes, toBigEndian, toHex } from "../bytes.ts";
import type { Manifest } from "../documents/manifest.ts";
import { reportBatch } from "../documents/reports.ts";
import { SpoolFull } from "../errors.ts";
import type { Joined, LedgerState, RetryWindow } from "../ledgers/ledger.ts";
import type { Randomness } from "../randomizers/random.ts";
import { type Caps, checkBudget, debitTime } from "./caps.ts";

const ID_BYTES = 16;
const KEPT_S = 30 * 86_400;

/** What became of `answer`. Only `recorded` spends; `already_answered` spent before. */
export type AnswerStatus =
  | "recorded"
  | "already_answered"
  | "not_open"
  | "not_assigned"
  | "opted_out"
  | "dry_run"
  | "not_this_period"
  | "clock_differs";

/** What an answer to one round costs and says. */
export interface Draw {
  readonly campaign: string;
  readonly round: number;
  readonly nano: bigint;
  readonly device: bigint;
  readonly retry: RetryWindow;
  readonly expiresAt: number | null;
  readonly periodStart: number | null;
  readonly isSealed: boolean;
  /** The bytes to send: the one place where a value meets randomness. */
  readonly report: () => Uint8Array;
}

/** The rounds that this device may answer. */
export function ownRounds(manifest: Manifest, joined: Joined): number[] {
  return joined.drawnRound === null ? [...manifest.rounds.keys()] : [joined.drawnRound];
}

/** Whether the owner left this campaign, or all. */
export function hasLeft(state: LedgerState, campaign: string): boolean {
  return state.leftAllAt !== null || state.campaigns[campaign]?.leftAt != null;
}

/** Whether a round has its debit. */
export function isAnswered(state: LedgerState, campaign: string, round: number): boolean {
  return state.debits.some((debit) => debit.campaign === campaign && debit.round === round);
}

/** Why no request is needed any more: the owner left, or every round of this device is answered. */
export function settled(state: LedgerState, campaign: string, rounds: readonly number[]): AnswerStatus | null {
  if (hasLeft(state, campaign)) return "opted_out";
  return rounds.every((round) => isAnswered(state, campaign, round)) ? "already_answered" : null;
}

/** Checks all, then draws and writes debit and report; throws BudgetExceeded or SpoolFull before anything is drawn. */
export function record(
  state: LedgerState,
  draw: Draw,
  { caps, clock, until, spoolLimit, dryRun }: Terms,
): AnswerStatus {
  const { campaign, round, nano } = draw;
  if (hasLeft(state, campaign)) return "opted_out";
  if (isAnswered(state, campaign, round)) return "already_answered";
  if (until !== null && clock >= until) return "not_open";
  const now = debitTime(state, clock);
  checkBudget(state, campaign, nano, { caps, device: draw.device, now });
  if (state.reports.length >= spoolLimit) throw new SpoolFull(spoolLimit);
  if (dryRun) return "dry_run";
  state.latest = now;
  state.debits.push({ campaign, round, nano: String(nano), at: now, periodStart: draw.periodStart });
  if (state.tokens) delete state.tokens[`${campaign} ${round}`];
  const { retry, expiresAt, isSealed } = draw;
  const body = toHex(draw.report());
  const waits = { answeredAt: Math.floor(clock), failures: 0, postponedAt: 0, notBefore: 0 };
  state.reports.push({ campaign, round, body, retry, isSealed, expiresAt, ...waits });
  return "recorded";
}

/** What the app and the clock say about an answer. */
export interface Terms {
  readonly caps: Caps;
  readonly clock: number;
  /** The second from which the round is not answered any more. */
  readonly until: number | null;
  readonly spoolLimit: number;
  readonly dryRun: boolean;
}

/** The bytes of a report under a fresh id. */
export function reportBody(
  deviceDigest: Uint8Array,
  epoch: number,
  payload: Uint8Array,
  arm: number | null,
  random: Randomness,
): Uint8Array {
  const ids = joinedBytes(toBigEndian(BigInt(epoch), 2), random.bytes(ID_BYTES - 2));
  return reportBatch.write({ deviceDigest, ids, payloads: payload, arm: arm ?? 0 });
}

/** Whether a task that was read at `readAt` may be used without a connection. */
export function isUsable(state: LedgerState, readAt: number, answerUntil: number | null, clock: number): boolean {
  if (answerUntil === null || clock < readAt || clock >= readAt + KEPT_S) return false;
  return clock < answerUntil && state.latest < answerUntil;
}

/** Ends what the clock has passed: reports that no longer count lose their bytes; their debits stay. */
export function expire(state: LedgerState, clock: number): void {
  state.reports = state.reports.filter(({ expiresAt }) => expiresAt === null || clock < expiresAt);
  for (const each of Object.values(state.campaigns)) {
    // Deleted, so that no change of the clock opens the round again.
    if (each.task && clock >= Math.min(each.task.readAt + KEPT_S, each.task.answerUntil ?? Infinity)) each.task = null;
  }
}

/** Leaves a campaign: its reports and tokens are deleted, its debits stay, and it is never answered again. */
export function leave(state: LedgerState, campaign: string, clock: number): void {
  const left = state.campaigns[campaign];
  if (left) left.leftAt ??= Math.floor(clock);
  state.reports = state.reports.filter((report) => report.campaign !== campaign);
  for (const name in state.tokens) if (name.startsWith(campaign)) delete state.tokens[name];
}
