/** What a device needs of a plan: domain, claimed guarantee and randomizer; and the proof of the claim. */

import { later } from "../chunks.ts";
import { type Domain, domain } from "../domains/domain.ts";
import { GuaranteeNotMet, InvalidValue } from "../errors.ts";
import { epsilonOfRatio, type Guarantee, roundGuarantee } from "../randomizers/epsilon.ts";
import { basic } from "../randomizers/kinds.ts";
import type { Randomness } from "../randomizers/random.ts";
import type { Randomizer } from "../randomizers/randomizer.ts";
import { DocumentType, MAX_ITEMS } from "./document.ts";
import { built, record, type Schema, union } from "./schema.ts";

const randomizer = union({
  ...basic,
  pair: later("composed", ({ pair }) => pair),
  coarsened: later("coarsened", ({ coarsened }) => coarsened),
  dithered: later("composed", ({ dithered }) => dithered),
}) as Schema<Randomizer>;

export class DevicePart {
  readonly domain: Domain;
  readonly guarantee: Guarantee;
  readonly randomizer: Randomizer;

  constructor(fields: { domain: Domain; guarantee: Guarantee; randomizer: Randomizer }) {
    ({ domain: this.domain, guarantee: this.guarantee, randomizer: this.randomizer } = fields);
    this.randomizer.checkDomain(this.domain.shape);
    this.randomizer.checkOrdered?.(this.domain.attributes.map((each) => each.bins));
    if (this.domain.holdsStrings && this.randomizer.kind !== "coarsened") {
      throw new InvalidValue("a domain of strings is randomized by `coarsened` alone");
    }
  }

  /** The least nano-ε that the integers prove; throws GuaranteeNotMet where it is more than the part claims. */
  prove(): bigint {
    const proved = epsilonOfRatio(this.randomizer.likelihoodRatio());
    if (proved === null || proved > this.guarantee.nano) throw new GuaranteeNotMet(this.guarantee.nano, proved);
    return proved;
  }

  /** One payload for a value by the indices of its members; `coin`: from what its public part is drawn. */
  randomize(codes: readonly bigint[], random: Randomness, coin?: Randomness): Uint8Array {
    return this.randomizer.randomize(codes, this.domain.shape, random, coin);
  }
}

export const devicePart = new DocumentType(
  "device_part",
  { bytes: 64 << 20, items: MAX_ITEMS },
  built(
    record({ domain, guarantee: roundGuarantee, randomizer }),
    (fields) => new DevicePart(fields),
    (value) => value,
  ),
);
