/** What a device joins, and what it draws once. */

import type { Manifest } from "../documents/manifest.ts";
import { OptedOut, PlanRefused, ServedElsewhere } from "../errors.ts";
import type { Joined, LedgerState, SeriesState } from "../ledgers/ledger.ts";
import { drawBits, place, type Randomness } from "../randomizers/random.ts";

/** Throws PlanRefused for a manifest that this version cannot answer, or that names other servers. */
export function checkJoinable(manifest: Manifest, origin: string): void {
  const { route, servers, domain } = manifest;
  const unbuilt = [
    [domain.holdsStrings && servers.length > 0, "strings of several servers"],
    [domain.holdsStrings && manifest.arms.length > 0, "strings in an experiment"],
    [servers.length > 0 && manifest.arms.length > 0, "`arms` of several servers"],
  ] as const;
  const found = unbuilt.find(([isAsked]) => isAsked);
  if (found) throw new PlanRefused("manifest", `this version does not join campaigns with ${found[1]} yet`);
  const named = route.kind === "shuffled" ? [route.shuffler] : servers;
  if (named.length && !named.some(({ urls }) => urls.includes(origin))) {
    const kind = route.kind === "shuffled" ? "shuffler" : "servers";
    throw new PlanRefused("manifest", `it names the ${kind} of the campaign, and ${origin} is none of them`);
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
  const kept = { plans: {}, task: null, taskNumber: 0, series, leftAt: null };
  const joined = { manifest: content, origin, drawnRound, arm, ...kept };
  state.campaigns[campaign] = joined;
  return joined;
}
