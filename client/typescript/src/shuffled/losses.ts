/** The loss of a report that a blanket hides: the law that a claim of (ε, δ) is proved with. */

import { InvalidValue } from "../errors.ts";

/** (value, chance) of a loss; the chances sum to 1. */
export type LossLaw = readonly (readonly [number, number])[];

/**
 * Outputs of a uniform blanket of which a share is `ratio` times as likely as the others for any value.
 *
 * `overlap` is the share that is high for both of two values, at its least over pairs: that pair is hardest to hide.
 */
export class TwoLevels {
  readonly ratio: number;
  readonly share: number;
  readonly overlap: number;

  constructor(ratio: number, share: number, overlap: number) {
    const least = Math.max(0, 2 * share - 1);
    if (!(ratio > 1 && share > 0 && share < 1 && least - 1e-12 <= overlap && overlap <= share)) {
      throw new InvalidValue("two levels need a ratio above 1, a share below 1 and an overlap that fits it");
    }
    [this.ratio, this.share, this.overlap] = [ratio, share, overlap];
  }

  /** The four kinds of report at `power` = e^ε; kinds of no chance are left out. */
  losses(power: number): LossLaw {
    const { ratio, share, overlap } = this;
    const low = 1 / (ratio * share + 1 - share);
    const high = ratio * low;
    const kinds = [
      [high - power * low, share - overlap],
      [low - power * high, share - overlap],
      [high * (1 - power), overlap],
      [low * (1 - power), 1 - 2 * share + overlap],
    ] as const;
    return kinds.filter(([, chance]) => chance > 0);
  }
}

/** Sets of `subset` of `size` members; with one member it is randomized response. */
export function ofSet(size: number, subset: number, ratio: number): TwoLevels {
  return new TwoLevels(ratio, subset / size, (subset * (subset - 1)) / (size * (size - 1)));
}

/** Labels of which those of two values are independent. */
export function ofRandomLabels(members: number, labels: number, ratio: number): TwoLevels {
  const share = members / labels;
  return new TwoLevels(ratio, share, share * share);
}

/** The loss where the report says which part it is of, by (chance, levels). */
export function mixture(parts: readonly (readonly [number, TwoLevels])[], power: number): LossLaw {
  return parts.flatMap(([chance, levels]) => levels.losses(power).map(([value, part]) => [value, chance * part] as const));
}
