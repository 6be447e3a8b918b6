/** A number on a few knots: rounded up or down at random, so that its mean stays, then randomized as one of few types. */

import { array, built, record, union, word } from "../documents/schema.ts";
import { InvalidValue } from "../errors.ts";
import type { Ratio } from "./epsilon.ts";
import { basic } from "./kinds.ts";
import { pair } from "./pair.ts";
import { drawBelow, type Randomness } from "./random.ts";
import type { Randomizer } from "./randomizer.ts";

const MAX_KNOTS = 1025;
type Numbers = readonly bigint[];

export class Dithered implements Randomizer {
  readonly kind = "dithered";
  readonly knots: readonly Numbers[];
  readonly inner: Randomizer;

  constructor({ knots, inner }: { knots: readonly Numbers[]; inner: Randomizer }) {
    this.knots = knots;
    this.inner = inner;
    knots.filter((each) => each.length).forEach(checkKnots);
  }

  get payloadBytes(): number {
    return this.inner.payloadBytes;
  }

  likelihoodRatio(): Ratio {
    // Of mixtures of columns no ratio is above the largest of the columns.
    return this.inner.likelihoodRatio();
  }

  checkDomain(shape: Numbers): void {
    this.inner.checkDomain(this.types(shape));
  }

  /** Throws unless the knots end at the last of so many ordered members, 0 for no order. */
  checkOrdered(ordered: Numbers): void {
    this.knots.forEach((knots, at) => {
      if (knots.length && knots.at(-1) !== ordered[at]! - 1n) {
        throw new InvalidValue(`the knots of attribute ${at} do not end at its last ordered member`);
      }
    });
  }

  randomize(codes: Numbers, shape: Numbers, random: Randomness, coin?: Randomness): Uint8Array {
    const types = this.types(shape);
    const drawn = codes.map((code, at) => (this.knots[at]!.length ? dither(this.knots[at]!, code, random) : code));
    return this.inner.randomize(drawn, types, random, coin);
  }

  /** The inner randomizer's types of each attribute. */
  private types(shape: Numbers): bigint[] {
    if (shape.length !== this.knots.length) throw new InvalidValue("the randomizer has knots for each attribute");
    return shape.map((size, at) => {
      const knots = this.knots[at]!;
      if (!knots.length) return size;
      const trailing = size - 1n - knots.at(-1)!;
      if (trailing < 0n || trailing > 2n) throw new InvalidValue("knots end at the last ordered member");
      return BigInt(knots.length) + trailing;
    });
  }
}

/** The type of a member: the place of the knot below it or above it, or that of a member without order. */
function dither(knots: Numbers, member: bigint, random: Randomness): bigint {
  const last = knots.at(-1)!;
  if (member > last) return BigInt(knots.length) + member - last - 1n;
  const at = knots.filter((knot) => knot <= member).length - 1;
  // A number is drawn on a knot too: only the last one needs none.
  if (at === knots.length - 1) return BigInt(at);
  const drawn = drawBelow(random, knots[at + 1]! - knots[at]!);
  return BigInt(at) + BigInt(drawn < member - knots[at]!);
}

function checkKnots(knots: Numbers): void {
  if (knots.length < 2 || knots.length > MAX_KNOTS) throw new InvalidValue(`there are 2 to ${MAX_KNOTS} knots`);
  if (knots[0] !== 0n) throw new InvalidValue("the first knot is 0");
  knots.forEach((knot, at) => {
    if (at && knot < knots[at - 1]!) throw new InvalidValue("knots do not fall");
    if (at > 1 && knot === knots[at - 2]) throw new InvalidValue("a knot is written once, or twice for a jump");
  });
}

export const dithered = built(
  record({
    knots: array(array(word(0n, (1n << 62n) - 1n)), 1, 255),
    inner: union({ ...basic, pair }),
  }),
  (fields) => new Dithered(fields),
  (value) => value as any,
);
