/** Answers of a series: one to a period, by the device's own phase. */

import type { Manifest } from "./documents/manifest.ts";
import type { Rotating } from "./documents/series.ts";
import type { Task } from "./documents/task.ts";
import { chargeOf, type Device, type Session } from "./device.ts";
import { PlanUnavailable, WrongArgument } from "./errors.ts";
import { fetchTask } from "./fetching.ts";
import type { Joined, LedgerState } from "./ledgers/ledger.ts";
import { type Answer, answerOf } from "./options.ts";
import { type AnswerStatus, hasLeft, record } from "./rules/answering.ts";
import { serverTime } from "./rules/http_dates.ts";
import { acceptedUntil, afterAnswer, epochOf, firstState, nextMoment, type Period, toAnswer } from "./rules/series.ts";
import { pinTask, readTask } from "./rules/tasks.ts";

export { firstState };

/** The period that this device is asked about now; null if there is none. Sends nothing. */
export async function due(device: Device, { id, manifest }: Session): Promise<Period | null> {
  const law = seriesOf(manifest);
  const asked = await device.transaction((state) => periodOf(device, state, id, law));
  return typeof asked === "string" ? null : asked;
}

/** When there is a period to answer, from now on; null if never again. */
export async function nextDue(device: Device, { id, manifest }: Session): Promise<Date | null> {
  const law = seriesOf(manifest);
  const moment = await device.transaction((state) => {
    const { series } = state.campaigns[id]!;
    return hasLeft(state, id) ? null : nextMoment(law, series!, Math.floor(device.clock()));
  });
  return moment === null ? null : new Date(1000 * moment);
}

/** As `answerRound`, for the period that is asked about now. */
export async function answerPeriod(device: Device, session: Session, value: unknown): Promise<Answer> {
  const { id, manifest } = session;
  const law = seriesOf(manifest);
  const asked = await device.transaction((state) => periodOf(device, state, id, law));
  if (typeof asked === "string") return answerOf(asked, id);
  const retry = await retryOf(device, session, law.periodS);
  if (typeof retry === "string") return answerOf(retry, id, asked.number);
  const verified = await device.part(session, 0, manifest.rounds[0]!.plan!.device);
  const codes = device.codes(verified, manifest, 0, value);
  const report = await device.drawing(session, verified, codes, { round: asked.number, epoch: epochOf(asked.number), token: null });
  const nano = verified.proved;
  const charge = { ...chargeOf(session, asked.number, nano), retry };
  const advance = (joined: Joined, period: Period) => {
    joined.series = afterAnswer(law, joined.series!, period, Math.floor(device.clock()));
  };
  const status = await device.transaction((state): AnswerStatus => {
    const again = periodOf(device, state, id, law);
    if (typeof again === "string") return again;
    // The period ended while the server was asked: the value is about the one before.
    if (again.number !== asked.number) return "not_this_period";
    const draw = { ...charge, periodStart: again.start, expiresAt: acceptedUntil(law, again.number), report };
    const found = record(state, draw, device.terms(null));
    if (found === "recorded") advance(state.campaigns[id]!, again);
    return found;
  });
  return answerOf(status, id, asked.number, nano);
}

/** The retry window of the task that a series has now, or why nothing is answered. */
async function retryOf(
  device: Device,
  { id, manifest, joined }: Session,
  periodS: number,
): Promise<Task["retry"] | AnswerStatus> {
  try {
    const answer = await fetchTask(device.transport, id);
    const shown = serverTime(answer);
    if (shown !== null && Math.abs(shown - device.clock()) > periodS) return "clock_differs";
    const task = readTask(answer.content, id, manifest);
    await device.transaction((state) => pinTask(state.campaigns[id]!, task, answer.content, device.clock()));
    return task.round === null ? "not_open" : task.retry;
  } catch (error) {
    if (!(error instanceof PlanUnavailable) || !error.offline) throw error;
    return joined.series!.retry;
  }
}

function periodOf(device: Device, state: LedgerState, id: string, law: Rotating): ReturnType<typeof toAnswer> | "opted_out" {
  if (hasLeft(state, id)) return "opted_out";
  return toAnswer(law, state.campaigns[id]!.series!, Math.floor(device.clock()));
}

function seriesOf({ assignment }: Manifest): Rotating {
  if (assignment.kind !== "rotating") throw new WrongArgument("the campaign is no series: it has no periods");
  return assignment;
}
