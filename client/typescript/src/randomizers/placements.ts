/** Random attributes for slots: each slot gets a distinct attribute of its size, all placements being equally likely. */

import { InvalidValue } from "../errors.ts";
import { drawBelow, type Randomness } from "./random.ts";

/** The place of an attribute for each slot; sizes are gone through as they stand first in `slots`, or ascending. */
export function arranged(
  slots: readonly bigint[],
  sizes: readonly bigint[],
  order: "ascending" | "as written",
  random: Randomness,
): number[] {
  const drawn = new Array<number>(slots.length);
  const distinct = [...new Set(slots)];
  if (order === "ascending") distinct.sort((first, second) => (first < second ? -1 : 1));
  for (const size of distinct) {
    const left = [...sizes.keys()].filter((at) => sizes[at] === size);
    const wanted = [...slots.keys()].filter((slot) => slots[slot] === size);
    wanted.forEach((slot, done) => {
      const chosen = done + Number(drawBelow(random, BigInt(left.length - done)));
      drawn[slot] = left[chosen]!;
      left[chosen] = left[done]!;
    });
  }
  return drawn;
}

/** Throws unless attributes of these sizes fill the slots. */
export function checkSlots(slots: readonly bigint[], sizes: readonly bigint[]): void {
  const left = new Map<bigint, number>();
  for (const size of sizes) left.set(size, (left.get(size) ?? 0) + 1);
  for (const slot of slots) {
    const count = left.get(slot) ?? 0;
    if (!count) throw new InvalidValue("there are too few attributes of a slot's size");
    left.set(slot, count - 1);
  }
}
