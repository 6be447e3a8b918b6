/** The task: what is open now, the same bytes for everybody. */

import { InvalidValue } from "../errors.ts";
import { digest, DocumentType, SIGNATURE_BYTES } from "./document.ts";
import { array, bytes, checked, MAX_TIME, nullable, type Of, oneOf, record, whole } from "./schema.ts";

const WEEK_S = 7 * 86_400;

const retry = checked(record({ minS: whole(0, WEEK_S), maxS: whole(0, WEEK_S) }), ({ minS, maxS }) => {
  if (maxS < minS) throw new InvalidValue("the retry window ends before it begins");
});

const fields = record({
  campaign: digest,
  state: oneOf("ready", "open", "closed", "cancelled"),
  round: nullable(whole(0, 15)),
  deviceParts: array(digest, 1, 16),
  epoch: whole(0, 2 ** 16 - 1),
  retry,
  answerUntil: nullable(whole(0, MAX_TIME)),
  acceptUntil: nullable(whole(0, MAX_TIME)),
  number: whole(0, 2 ** 40),
  signature: nullable(bytes(SIGNATURE_BYTES)),
});
export type Task = Of<typeof fields>;

function check({ round, state, deviceParts, answerUntil, acceptUntil, number, signature }: Task): void {
  if ((signature === null) !== (number === 0)) throw new InvalidValue("a task has a number where it is signed");
  if (round !== null && round >= deviceParts.length) throw new InvalidValue("the open round has no device part");
  if (round !== null && state !== "open") throw new InvalidValue("a campaign that is not open has no open round");
  if (round === null && (answerUntil !== null || acceptUntil !== null)) {
    throw new InvalidValue("answer_until and accept_until belong to a round that takes reports");
  }
  if (answerUntil !== null && acceptUntil !== null && answerUntil > acceptUntil) {
    throw new InvalidValue("answer_until is after accept_until");
  }
}

export const task = new DocumentType("task", { bytes: 64 << 10, items: 256 }, checked(fields, check));
