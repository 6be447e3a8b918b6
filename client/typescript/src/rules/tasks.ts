/** What a task and a plan may say of a campaign that was joined, and what a later task may not contradict. */

import { sameBytes, toHex } from "../bytes.ts";
import { code } from "../chunks.ts";
import { encode } from "../documents/cbor.ts";
import type { Manifest } from "../documents/manifest.ts";
import type { DevicePart } from "../documents/part.ts";
import { type Task, task as taskType } from "../documents/task.ts";
import { attribute } from "../domains/domain.ts";
import { PlanRefused, SordinoError } from "../errors.ts";
import type { Joined } from "../ledgers/ledger.ts";

/** The task of a campaign, if it fits the manifest; throws PlanRefused. */
export function readTask(content: Uint8Array, campaign: string, manifest: Manifest): Task {
  const task = reading("task", () => taskType.read(content));
  if (toHex(task.campaign) !== campaign) throw new PlanRefused("task", "it belongs to another campaign");
  const { route } = manifest;
  if (route.kind === "shuffled") code("shuffled").checkSigned(task, route);
  else if (task.signature !== null) throw new PlanRefused("task", "it is signed, and the campaign has no shuffler");
  if (task.deviceParts.length > manifest.rounds.length) throw new PlanRefused("task", "it has too many rounds");
  task.deviceParts.forEach((digest, round) => {
    const { plan } = manifest.rounds[round]!;
    if (plan && !sameBytes(plan.device, digest)) throw new PlanRefused("task", "it names another plan than the manifest");
  });
  return task;
}

/** Keeps what a task names for good; throws PlanRefused where an earlier task named another plan. */
export function pinTask(joined: Joined, task: Task, content: Uint8Array, now: number): void {
  task.deviceParts.forEach((digest, round) => {
    const named = toHex(digest);
    if ((joined.plans[round] ?? named) !== named) {
      throw new PlanRefused("task", `it names another plan for round ${round} than an earlier task did`);
    }
    joined.plans[round] = named;
  });
  if (task.number < joined.taskNumber) {
    throw new PlanRefused("task", `its number is ${task.number}, and ${joined.taskNumber} was seen before`);
  }
  joined.taskNumber = task.number;
  joined.task = { content: toHex(content), readAt: now, answerUntil: task.answerUntil };
  if (joined.series) {
    const ended = joined.series.ended || task.state === "closed" || task.state === "cancelled";
    joined.series = { ...joined.series, ended, retry: task.retry };
  }
}

/** The places of a part's attributes in the manifest's domain; throws PlanRefused where they are no part of it. */
export function checkPart(part: DevicePart, manifest: Manifest, round: number): number[] {
  const whole = manifest.domain.attributes.map((each) => encode(attribute.write(each)));
  let next = 0;
  const places = part.domain.attributes.map((each) => {
    const wanted = encode(attribute.write(each));
    while (next < whole.length && !sameBytes(whole[next]!, wanted)) next++;
    if (next === whole.length) throw new PlanRefused("plan", "its domain is not the manifest's, nor a part of that");
    return next++;
  });
  if (part.guarantee.nano > manifest.rounds[round]!.guarantee.nano) {
    throw new PlanRefused("plan", "it claims more ε than the manifest allows");
  }
  return places;
}

/** What `read` returns; what it refuses is refused of this document. */
export function reading<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof SordinoError) throw new PlanRefused(what, error.message, { cause: error });
    throw error;
  }
}
