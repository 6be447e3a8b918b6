/** One answer to a round of a campaign that is no series. */

import { chargeOf, type Device, type Session } from "./device.ts";
import { type Answer, answerOf } from "./options.ts";
import { ownRounds, record, settled } from "./rules/answering.ts";

/** Fetches and verifies all before the value is looked at; then judges, draws and writes in one transaction. */
export async function answerRound(device: Device, session: Session, value: unknown): Promise<Answer> {
  const { id, joined, manifest } = session;
  const rounds = ownRounds(manifest, joined);
  const over = await device.transaction((state) => settled(state, id, rounds));
  if (over) return answerOf(over, id);
  const { task, until } = await device.task(session);
  const { round } = task;
  if (round === null) return answerOf("not_open", id);
  if (!rounds.includes(round)) return answerOf("not_assigned", id);
  const verified = await device.part(session, round, task.deviceParts[round]!);
  const token = await device.token(session, round);
  const codes = device.codes(verified, manifest, round, value);
  const report = await device.drawing(session, verified, codes, { round, epoch: task.epoch, token });
  const nano = verified.proved;
  const charge = chargeOf(session, round, nano);
  const draw = { ...charge, periodStart: null, retry: task.retry, expiresAt: task.acceptUntil, report };
  const status = await device.transaction((state) => record(state, draw, device.terms(until)));
  return answerOf(status, id, round, nano);
}
