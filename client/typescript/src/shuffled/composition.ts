/**
 * What several answers behind a blanket tell together, from the claims of one: their Rényi curve, added up.
 *
 * δ as a function of e^ε is convex, and 1 where e^ε is 0. So chords between claims are never below it, and they are the
 * profile of a pair of laws with one loss at each claim and its mirror image; what the last claim leaves is an infinite
 * loss. That pair dominates the true one, and so do its Rényi divergences (Zhu, Dong and Wang 2022), which add up over
 * answers even where each is asked for after the answers before (Mironov 2017).
 */

export interface PrivacyClaim {
  readonly nanoEpsilon: bigint;
  readonly attoDelta: bigint;
}

type Point = readonly [number, number];

const WHOLE_ATTO = 10n ** 18n;
/** Any order is a proof. Curves of blankets are steepest, over their order, between 16 and 160. */
const ORDERS = [1.125, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64];
/** Above what sums and logarithms of so few doubles lose. */
const ROUNDED_UP = 1 + 1e-9;

/** What so many answers give the collector at the sum of their δ: by the sum of their ε, or the curve if less. */
export function composedClaim(claims: readonly PrivacyClaim[], headline: PrivacyClaim, answers: number): PrivacyClaim {
  const count = BigInt(answers);
  const nano = count * headline.nanoEpsilon;
  const atto = count * headline.attoDelta;
  const attoDelta = atto < WHOLE_ATTO ? atto : WHOLE_ATTO;
  const composed = answers > 1 ? composedEpsilon(claims, answers, Number(attoDelta) / 1e18) : null;
  const curve = composed === null ? nano : BigInt(Math.ceil(composed * 1000)) * 1_000_000n;
  return { nanoEpsilon: curve < nano ? curve : nano, attoDelta };
}

/** An ε that holds at `delta` for so many answers; null where their infinite losses use it up. */
function composedEpsilon(claims: readonly PrivacyClaim[], answers: number, delta: number): number | null {
  const rest = delta - (answers * Number(claims.at(-1)!.attoDelta)) / 1e18;
  if (rest <= 0) return null;
  const losses = lossesOf(claims);
  // Canonne, Kamath and Steinke (2020), proposition 12.
  const found = ORDERS.map((order) => {
    const divergence = ROUNDED_UP * Math.max(0, logMoment(losses, order) / (order - 1));
    return answers * divergence + Math.log1p(-1 / order) - Math.log(rest * order) / (order - 1);
  });
  return ROUNDED_UP * Math.max(0, Math.min(...found));
}

/** (loss, chance under the second law) of each claim on the lower hull of all: chances where the chords bend. */
function lossesOf(claims: readonly PrivacyClaim[]): Point[] {
  const hull: Point[] = [[0, 1]];
  for (const point of pointsOf(claims)) {
    while (hull.length > 1 && slope(hull.at(-2)!, hull.at(-1)!) >= slope(hull.at(-1)!, point)) hull.pop();
    hull.push(point);
  }
  // Beyond the last claim δ falls no further.
  const slopes = hull.map((point, at) => (at + 1 < hull.length ? slope(point, hull[at + 1]!) : 0));
  const losses = hull.slice(1).map(([power], at): Point => [Math.log(power), slopes[at + 1]! - slopes[at]!]);
  return losses.filter(([, chance]) => chance > 0);
}

/** (e^ε, δ) of each claim and of its mirror image at −ε: a claim is about both orders of a pair. */
function pointsOf(claims: readonly PrivacyClaim[]): Point[] {
  const above = claims.map(({ nanoEpsilon, attoDelta }): Point => [Math.exp(Number(nanoEpsilon) / 1e9), Number(attoDelta) / 1e18]);
  const below = above.filter(([power]) => power > 1).map(([power, delta]): Point => [1 / power, 1 - (1 - delta) / power]);
  return [...below.reverse(), ...above];
}

function slope(first: Point, second: Point): number {
  return (second[1] - first[1]) / (second[0] - first[0]);
}

/** ln E[e^(order · loss)] under the second law. */
function logMoment(losses: readonly Point[], order: number): number {
  const terms = losses.map(([loss, chance]) => Math.log(chance) + order * loss);
  const largest = Math.max(...terms);
  return largest + Math.log(terms.reduce((all, term) => all + Math.exp(term - largest), 0));
}
