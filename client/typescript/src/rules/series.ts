/** A series: one question that comes back every period, answered by a device once in `slots` periods. Integers only. */

import type { Rotating } from "../documents/series.ts";
import type { RetryWindow, SeriesState } from "../ledgers/ledger.ts";

/** Period `number`: from `start` until before `end`, in Unix seconds. */
export interface Period {
  readonly number: number;
  readonly start: number;
  readonly end: number;
}

type Law = Rotating;

export function numberAt(law: Law, now: number): number {
  return Math.floor((now - law.start) / law.periodS);
}

export function periodOf(law: Law, number: number): Period {
  const start = law.start + number * law.periodS;
  return { number, start, end: start + law.periodS };
}

/** The first second at which an answer to a period may be given. */
export function acceptedFrom(law: Law, number: number): number {
  return periodOf(law, number + lag(law)).start;
}

/** The second from which no report of a period counts any more. */
export function acceptedUntil(law: Law, number: number): number {
  return periodOf(law, number + lag(law)).end + law.lateS;
}

/** The period that a device of this phase may answer at `now`; null if there is none. */
export function askedAt(law: Law, phase: number, now: number): Period | null {
  const latest = numberAt(law, now) - lag(law);
  const number = law.valueOf === "current" ? latest : latest - modulo(latest - phase, law.slots);
  if (number < 0 || modulo(number, law.slots) !== phase) return null;
  const counts = acceptedFrom(law, number) <= now && now < acceptedUntil(law, number);
  return counts ? periodOf(law, number) : null;
}

/** The first second from `now` on at which there is a period to answer; null if there is none any more. */
export function nextMoment(law: Law, state: SeriesState, now: number): number | null {
  if (state.replacedBy !== undefined || state.ended || state.answers >= law.answersMax) return null;
  const earliest = Math.max(now, state.nextAt);
  const over = Math.floor((earliest - answeringS(law) - acceptedFrom(law, 0)) / law.periodS);
  const least = Math.max(state.nextPeriod, over + 1, 0);
  return Math.max(earliest, acceptedFrom(law, least + modulo(state.phase - least, law.slots)));
}

/** For how many seconds a device may answer about a period. */
export function answeringS(law: Law): number {
  return law.periodS + (law.valueOf === "previous" && law.slots > 1 ? law.lateS : 0);
}

/** The most that a device is asked about in any `periods` in a row. */
export function mostAnswers(law: Law, periods: number): number {
  return Math.min(Math.ceil(periods / law.slots), law.answersMax);
}

/** The most reports of a device that arrive in `periods`; none arrive in 0. */
export function mostReports(law: Law, periods: number): number {
  const window = periods * law.periodS + law.lateS;
  return periods > 0 ? Math.min(Math.ceil(window / (law.slots * law.periodS)), law.answersMax) : 0;
}

/** The most answers of a device in any `seconds` of its clock. */
export function mostDrawn(law: Law, seconds: number): number {
  return seconds > 0 ? Math.min(Math.ceil((seconds + answeringS(law)) / (law.slots * law.periodS)), law.answersMax) : 0;
}

/** The head of the ids of a period's reports. */
export function epochOf(number: number): number {
  return number % 2 ** 16;
}

/** The period to answer at `now`, or why there is none. */
export function toAnswer(
  law: Law,
  state: SeriesState,
  now: number,
): Period | "not_open" | "not_this_period" | "already_answered" {
  if (state.ended) return "not_open";
  const period = askedAt(law, state.phase, now);
  if (period === null) return "not_this_period";
  if (state.answers >= law.answersMax || period.number === state.nextPeriod - law.slots) return "already_answered";
  return period.number < state.nextPeriod || now < state.nextAt ? "not_this_period" : period;
}

/** The state after an answer about a period. A late one must not keep the device from its next: `lateS` is taken off. */
export function afterAnswer(law: Law, state: SeriesState, period: Period, now: number): SeriesState {
  return {
    ...state,
    answers: state.answers + 1,
    nextPeriod: period.number + law.slots,
    nextAt: Math.max(state.nextAt, now + (law.slots - 1) * law.periodS - law.lateS),
  };
}

/** The state of a device that has just drawn its phase. */
export function firstState(phase: number, retry: RetryWindow): SeriesState {
  return { phase, answers: 0, nextPeriod: 0, nextAt: 0, ended: false, retry };
}

function lag(law: Law): number {
  return law.valueOf === "previous" ? 1 : 0;
}

function modulo(number: number, by: number): number {
  return ((number % by) + by) % by;
}
