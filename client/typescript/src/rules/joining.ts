/** What a device joins, what it draws once, and what a later task may not contradict. */

import { compareBytes, sameBytes, toHex } from "../bytes.ts";
import { encode } from "../documents/cbor.ts";
import type { Manifest } from "../documents/manifest.ts";
import type { DevicePart } from "../documents/part.ts";
import { type Task, task as taskType } from "../documents/task.ts";
import { attribute } from "../domains/domain.ts";
import { OptedOut, PlanRefused, ServedElsewhere, SordinoError } from "../errors.ts";
import type { Joined, LedgerState, SeriesState } from "../ledgers/ledger.ts";
import { drawBits, place, type Randomness } from "../randomizers/random.ts";

/** Throws PlanRefused for a manifest that this version cannot answer, or that names other servers. */
export function checkJoinable(manifest: Manifest, origin: string): void {
  const { route, assignment, servers, domain } = manifest;
  const unbuilt = [
    [route.kind === "shuffled", "a shuffler"],
    [route.kind === "direct_with_tokens", "tokens"],
    [domain.holdsStrings, "strings"],
    [assignment.kind === "rotating" && assignment.replaces !== null, "a series that replaces another one"],
    [servers.length > 0 && manifest.arms.length > 0, "`arms` of several servers"],
  ] as const;
  const found = unbuilt.find(([isAsked]) => isAsked);
  if (found) throw new PlanRefused("manifest", `this version does not join campaigns with ${found[1]} yet`);
  if (servers.length && !servers.some(({ urls }) => urls.includes(origin))) {
    throw new PlanRefused("manifest", `it names the servers of the campaign, and ${origin} is none of them`);
  }
}

/** Pins a manifest, and draws this device's round and arm once; a second join changes nothing. */
export function pin(
  state: LedgerState,
  campaign: string,
  { manifest, content, origin, series }: { manifest: Manifest; content: string; origin: string; series: SeriesState | null },
  random: Randomness,
): Joined {
  if (state.leftAllAt !== null) throw new OptedOut();
  const known = state.campaigns[campaign];
  if (known) {
    if (known.origin !== origin) throw new ServedElsewhere(campaign, known.origin);
    return known;
  }
  const { assignment, arms } = manifest;
  const weights = assignment.kind === "one_round" ? assignment.weights : null;
  const drawnRound = weights && place(weights.map(BigInt), drawBits(random, 32));
  const arm = arms.length ? place(arms.map(({ weight }) => BigInt(weight)), drawBits(random, 16)) : null;
  const joined = { manifest: content, origin, drawnRound, arm, plans: {}, task: null, series, leftAt: null };
  state.campaigns[campaign] = joined;
  return joined;
}

/** The task of a campaign, if it fits the manifest; throws PlanRefused. */
export function readTask(content: Uint8Array, campaign: string, manifest: Manifest): Task {
  const task = reading("task", () => taskType.read(content));
  if (toHex(task.campaign) !== campaign) throw new PlanRefused("task", "it belongs to another campaign");
  if (task.signature !== null) throw new PlanRefused("task", "it is signed, and the campaign has no shuffler");
  if (task.issuerKey !== null) throw new PlanRefused("task", "it names an issuer's key, and the campaign has no tokens");
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
    while (next < whole.length && compareBytes(whole[next]!, wanted) !== 0) next++;
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
