/** A series that takes the place of another one on a device that joined it. */

import { sameBytes } from "../bytes.ts";
import type { Manifest } from "../documents/manifest.ts";
import type { Rotating } from "../documents/series.ts";
import { PlanRefused } from "../errors.ts";
import type { SeriesState } from "../ledgers/ledger.ts";

/** Why `next` may not take the place of `old`, whose id is `replaced`; null where it may. */
export function successorFault(old: Manifest, replaced: Uint8Array, next: Manifest): string | null {
  const [before, after] = [old.assignment, next.assignment];
  if (before.kind !== "rotating" || after.kind !== "rotating") return "only a series replaces a series";
  if (!after.replaces || !sameBytes(after.replaces, replaced)) return "it names another series as the one it replaces";
  for (const name of ["start", "periodS", "valueOf"] as const) {
    if (before[name] !== after[name]) return `its ${name} is ${after[name]}, not ${before[name]}`;
  }
  if (after.slots < before.slots) return `it asks once in ${after.slots} periods, not in ${before.slots} or more`;
  if (after.answersMax > before.answersMax) return `it asks ${after.answersMax} times for life, above ${before.answersMax}`;
  const [was, now] = [old, next].map(({ rounds }) => rounds[0]!.guarantee.nano);
  return now! > was! ? `an answer costs ${now} nano-ε, above ${was}` : null;
}

/** What the replaced series leaves: nothing is answered before it could have been answered again, and its answers count. */
export function takeOver(law: Rotating, drawn: SeriesState, before: Rotating, old: SeriesState): SeriesState {
  if (old.replacedBy) throw new PlanRefused("manifest", `campaign ${old.replacedBy} has replaced that series already`);
  return {
    ...drawn,
    phase: law.slots === before.slots ? old.phase : drawn.phase,
    answers: old.answers,
    nextPeriod: old.nextPeriod,
    nextAt: old.answers ? old.nextAt + before.lateS : 0,
  };
}
