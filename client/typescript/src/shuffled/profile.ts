/** δ(ε) of one report among those of a blanket, from the law of one loss. */

import { InvalidValue } from "../errors.ts";
import { transform } from "./fourier.ts";
import type { LossLaw } from "./losses.ts";

/** About the chance of sums that are left out of the transform; their part of δ is bounded and added. */
const NEGLIGIBLE = 1e-17;
const FEWEST_CELLS = 1 << 12;
const MOST_CELLS = 1 << 16;
/** Cells are this part of the standard deviation of one loss, if that takes no more than the most cells. */
const PART_OF_DEVIATION = 8;

/**
 * At least E[(L₀ + … + L_m)₊]/(m + 1) for m = `blanket`, and above it by about as much as the grid is coarse.
 *
 * Each value of L is spread over two neighbouring points of a grid with its mean kept: by Jensen's inequality the
 * expectation only grows. The law of the sum is one Fourier transform to the power m + 1; what lies above its window is
 * bounded by Bernstein's inequality. Rounding adds less than 10⁻¹² + 10⁻⁴ δ, less than claims have to spare.
 */
export function deltaOf(law: LossLaw, blanket: number): number {
  if (Math.abs(sum(law.map(([, chance]) => chance)) - 1) > 1e-9) throw new InvalidValue("the chances of a loss do not sum to 1");
  const count = blanket + 1;
  const window = new Window(law, count);
  if (window.top <= 0) return window.above(law, count) / count;
  const spread = window.spread(law);
  const chances = lawOfSum(spread, count, window.cells);
  let positive = 0;
  for (let place = 0; place < window.cells; place++) positive += chances[place]! * Math.max(0, window.value(place));
  const points = [...spread].map(([place, chance]) => [window.origin + place * window.step, chance] as const);
  return (positive + window.above(points, count)) / count;
}

/**
 * A cyclic grid on which nearly all of a sum of `count` losses lies.
 *
 * A loss is `origin` plus a multiple of `step`, so a sum is `count · origin` plus one; `cells` multiples up to `top` are
 * told apart. Sums below the window count as some above it, which makes δ larger.
 */
class Window {
  readonly cells: number;
  readonly step: number;
  readonly origin: number;
  readonly top: number;
  private readonly last: number;

  constructor(law: LossLaw, count: number) {
    const values = law.map(([value]) => value);
    const [least, most] = [Math.min(...values), Math.max(...values)];
    const [mean, variance] = moments(law);
    const log = -Math.log(NEGLIGIBLE);
    const high = Math.min(count * most, count * mean + reach(count * variance, most - mean, log));
    const low = Math.max(count * least, count * mean - reach(count * variance, mean - least, log));
    const width = Math.max(high - low, 1e-300);
    const wanted = width / Math.max(Math.sqrt(variance) / PART_OF_DEVIATION, 1e-300);
    let cells = FEWEST_CELLS;
    while (cells < Math.min(wanted, MOST_CELLS)) cells *= 2;
    // Spreading moves each loss by less than a cell, so that few losses stay within the window for sure.
    const margin = Math.min(count, cells >> 3) + 1;
    this.cells = cells;
    this.step = width / (cells - 2 * margin);
    // The likeliest value lies on the grid and is not spread.
    this.origin = law.reduce((best, each) => (each[1] > best[1] ? each : best))[0];
    this.last = Math.floor((high - count * this.origin) / this.step) + margin;
    this.top = count * this.origin + this.last * this.step;
  }

  /** Chances by multiple of the step, each value at its two neighbours with its mean kept. */
  spread(law: LossLaw): Map<number, number> {
    const spread = new Map<number, number>();
    const add = (place: number, chance: number) => spread.set(place, (spread.get(place) ?? 0) + chance);
    for (const [value, chance] of law) {
      const place = (value - this.origin) / this.step;
      const below = Math.floor(place);
      const above = place - below;
      add(below, chance * (1 - above));
      if (above) add(below + 1, chance * above);
    }
    return spread;
  }

  /** The sum that a place of the cyclic grid stands for, `count · origin` included. */
  value(place: number): number {
    const first = this.last - this.cells + 1;
    return this.top - (this.last - (first + modulo(place - first, this.cells))) * this.step;
  }

  /**
   * At least E[S₊; S > top] of a sum S of `count` losses of this law, by Bernstein's inequality.
   *
   * P(S − E S > u) ≤ e^−f(u) with f(u) = u²/(2(v + b u/3)); f is convex, so beyond u₀ it is above its tangent.
   */
  above(law: LossLaw, count: number): number {
    const [mean, variance] = moments(law);
    const largest = Math.max(...law.map(([value]) => value));
    if (count * largest <= this.top + this.step / 2) return 0;
    const [bound, total] = [largest - mean, count * variance];
    const beyond = this.top - count * mean;
    if (beyond <= 0) return count * Math.max(0, largest);
    const scale = 2 * (total + (bound * beyond) / 3);
    const exponent = beyond ** 2 / scale;
    const slope = (2 * beyond * scale - (beyond ** 2 * 2 * bound) / 3) / scale ** 2;
    return Math.exp(-exponent) * (Math.max(0, this.top) + 1 / slope);
  }
}

/** Mean and variance. */
function moments(law: LossLaw): readonly [number, number] {
  const mean = sum(law.map(([value, chance]) => value * chance));
  return [mean, sum(law.map(([value, chance]) => (value - mean) ** 2 * chance))];
}

/** u with Bernstein's e^−u²/(2(v + b u/3)) = e^−log. */
function reach(variance: number, bound: number, log: number): number {
  const third = (bound * log) / 3;
  return third + Math.sqrt(third ** 2 + 2 * log * variance);
}

/** Chances of the sum of `count` copies modulo `cells`; what rounding makes negative is 0. */
function lawOfSum(spread: Map<number, number>, count: number, cells: number): Float64Array {
  const waves = { real: new Float64Array(cells), imaginary: new Float64Array(cells) };
  for (const [place, chance] of spread) waves.real[modulo(place, cells)]! += chance;
  transform(waves, -1);
  const { real, imaginary } = waves;
  for (let at = 0; at < cells; at++) {
    const log = count * Math.log(Math.hypot(real[at]!, imaginary[at]!));
    // No modulus is above 1; one that leaves the range of doubles is 0.
    const size = log < -700 ? 0 : Math.exp(log);
    const angle = count * Math.atan2(imaginary[at]!, real[at]!);
    real[at] = size * Math.cos(angle);
    imaginary[at] = size * Math.sin(angle);
  }
  transform(waves, 1);
  return real.map((chance) => Math.max(0, chance / cells));
}

function modulo(place: number, cells: number): number {
  return ((place % cells) + cells) % cells;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}
