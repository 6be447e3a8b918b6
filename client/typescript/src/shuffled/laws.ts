/** The loss of each randomizer whose law is in closed form, or one that is no easier to hide. */

import { littleEndian, toHex } from "../bytes.ts";
import { InvalidValue } from "../errors.ts";
import type { Coarsened } from "../randomizers/coarsened/coarsened.ts";
import type { Level } from "../randomizers/coarsened/level.ts";
import type { Dithered } from "../randomizers/dithered.ts";
import type { OrbitKernel } from "../randomizers/orbit.ts";
import type { RandomizedResponse } from "../randomizers/randomized_response.ts";
import { bitCount, type Randomizer } from "../randomizers/randomizer.ts";
import type { SubsetMixture, SubsetSelection } from "../randomizers/subsets.ts";
import { type LossLaw, mixture, ofRandomLabels, ofSet, TwoLevels } from "./losses.ts";
import { leastOverlap, MAX_STEPS, overlapSteps } from "./overlaps.ts";

type Parts = readonly (readonly [number, TwoLevels])[];

/** (chance, levels) of each public choice that a device makes before it looks at its value. */
const PARTS: Record<string, (randomizer: any) => Parts> = {
  randomized_response: (each: RandomizedResponse) => [[1, ofSet(each.size, 1, ratioOf(each))]],
  subset_selection: (each: SubsetSelection) => [[1, ofSet(each.size, each.subsetSize, ratioOf(each))]],
  subset_mixture: ({ parts, sizeWeights, bits }: SubsetMixture) =>
    parts.map((each, at) => [share(sizeWeights[at]!, bits), ofSet(each.size, each.subsetSize, ratioOf(each))]),
  coarsened: levelsOf,
  orbit_kernel: (each: OrbitKernel) =>
    each.rows.map(({ set, shape }, at) => [share(each.rowWeights[at]!, each.bits), ofShifts(set, shape, ratioOf(each))]),
  // As if every seed told any two values apart.
  seeded_direction: (each: Randomizer) => [[1, new TwoLevels(ratioOf(each), 0.5, 0)]],
  // Laws of values are mixtures of the types', and δ is convex in both laws: some two types are hidden least.
  dithered: ({ inner }: Dithered) => partsOf(inner),
};

/** Whether the shuffler alone proves the claim: that of a table takes up to half a minute, dithered or not. */
export function isTable(randomizer: Randomizer): boolean {
  const { inner } = randomizer as Partial<Dithered>;
  return (randomizer.kind === "dithered" ? inner! : randomizer).kind === "finite_kernel";
}

/** A law of the loss at `power` = e^ε that is no easier to hide than that of any two values; throws InvalidValue. */
export function lossOf(randomizer: Randomizer, power: number): LossLaw {
  return mixture(partsOf(randomizer), power);
}

function partsOf(randomizer: Randomizer): Parts {
  const parts = PARTS[randomizer.kind];
  if (!parts) throw new InvalidValue(`reports of kind "${randomizer.kind}" have no blanket`);
  return parts(randomizer);
}

function ratioOf(randomizer: Randomizer): number {
  const ratio = randomizer.likelihoodRatio();
  if (ratio === null) throw new InvalidValue("some report is possible for one value only: it has no ε");
  // 60 bits of the quotient, of which a double keeps 53.
  return Number((ratio[0] << 60n) / ratio[1]) / 2 ** 60;
}

function share(weight: bigint, bits: number): number {
  return Number(weight) / 2 ** bits;
}

/** As if a partition never joined two values: joined values are told apart by nothing. */
function levelsOf(randomizer: Coarsened): Parts {
  const [ratio, total] = [ratioOf(randomizer), randomizer.levels.reduce((all, { chance }) => all + Number(chance), 0)];
  const keyOf = ({ label, members }: Level) => `${label.moduli ?? label.count} ${label.kind} ${toHex(members)}`;
  const kinds = new Map(randomizer.levels.map((level) => [keyOf(level), level]));
  const shifts = [...kinds.values()].flatMap(({ label }) => (label.moduli ? [overlapSteps(axesOf(label.moduli))] : []));
  if (shifts.reduce((all, each) => all + each, 0) > MAX_STEPS) {
    throw new InvalidValue(`shifts of ${kinds.size} sets are too many for a proof of their blanket`);
  }
  const found = new Map([...kinds].map(([key, level]) => [key, ofLevel(level, ratio)]));
  return randomizer.levels.map((level) => [Number(level.chance) / total, found.get(keyOf(level))!]);
}

function ofLevel({ label, members }: Level, ratio: number): TwoLevels {
  const set = littleEndian(members);
  return label.moduli ? ofShifts(set, label.moduli, ratio) : ofRandomLabels(bitCount(set), Number(label.count), ratio);
}

/** Shifts of a value's cell by a member of the set: two values share the least over all differences. */
function ofShifts(members: bigint, shape: readonly bigint[], ratio: number): TwoLevels {
  const axes = axesOf(shape);
  const cells = axes.reduce((all, size) => all * size, 1);
  return new TwoLevels(ratio, bitCount(members) / cells, leastOverlap(members, axes) / cells);
}

function axesOf(shape: readonly bigint[]): number[] {
  return shape.map(Number).filter((size) => size > 1);
}
