/** Tasks of a shuffled campaign are signed, so that a shuffler in between can change none. */

import { joined } from "../bytes.ts";
import { verify } from "../curve/ed25519.ts";
import { digestOf } from "../documents/document.ts";
import type { Shuffled } from "../documents/shuffled.ts";
import { type Task, task as taskType } from "../documents/task.ts";
import { PlanRefused } from "../errors.ts";

const CONTEXT = new TextEncoder().encode("sordino task v1\0");

/** Throws PlanRefused unless the collector signed the task, and its round ends when the manifest says. */
export function checkSigned(task: Task, { taskKey, end }: Shuffled): void {
  const { signature, round, acceptUntil } = task;
  const message = joined(CONTEXT, digestOf(taskType.write({ ...task, signature: null })));
  if (signature === null || !verify(taskKey, signature, message)) {
    throw new PlanRefused("task", "it is not signed by the key that the manifest names");
  }
  if (round !== null && acceptUntil !== end) {
    throw new PlanRefused("task", `it ends at ${acceptUntil}, the manifest at ${end}`);
  }
}
