/** Claims of (ε, δ) against the collector: whether the one that an owner is told is true, where that is quickly proved. */

import { decimal } from "../bytes.ts";
import type { Manifest } from "../documents/manifest.ts";
import type { DevicePart } from "../documents/part.ts";
import { InvalidValue, PlanRefused } from "../errors.ts";
import type { Randomizer } from "../randomizers/randomizer.ts";
import { isTable, lossOf } from "./laws.ts";
import { deltaOf } from "./profile.ts";

/** δ falls in ε, so the bound at this ε holds above it; beyond, squares of losses leave the range of doubles. */
const LARGEST_NANO = 100n * 10n ** 9n;

/** δ at ε = `nano`·10⁻⁹ of one report among `blanket` random ones, whatever all others send; throws InvalidValue. */
export function boundOf(randomizer: Randomizer, blanket: number, nano: bigint): number {
  const power = Math.exp(Number(nano < LARGEST_NANO ? nano : LARGEST_NANO) / 1e9);
  return deltaOf(lossOf(randomizer, power), blanket);
}

/**
 * Throws PlanRefused where the (ε, δ) that the owner is told is not true, for laws in closed form.
 *
 * It takes some 10 ms. A table takes up to half a minute: there the shuffler proves it, and `sordino audit` for anybody.
 */
export function checkHeadline({ route }: Manifest, { randomizer }: DevicePart): void {
  if (route.kind !== "shuffled" || isTable(randomizer)) return;
  const { blanket, claims, headline } = route;
  const { nanoEpsilon, attoDelta } = claims[headline]!;
  try {
    if (boundOf(randomizer, blanket, nanoEpsilon) * 1e18 <= Number(attoDelta)) return;
  } catch (error) {
    throw error instanceof InvalidValue ? new PlanRefused("manifest", error.message) : error;
  }
  const claim = `(ε ${decimal(nanoEpsilon)}, δ ${Number(attoDelta) / 1e18})`;
  throw new PlanRefused("manifest", `it claims ${claim}, and ${blanket} random reports prove less`);
}
