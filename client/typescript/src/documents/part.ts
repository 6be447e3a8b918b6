/** What a device needs of a plan: domain, claimed guarantee and randomizer; and the proof of the claim. */

import { type Domain, domain } from "../domains/domain.ts";
import { GuaranteeNotMet, InvalidValue } from "../errors.ts";
import { coarsened } from "../randomizers/coarsened/coarsened.ts";
import { seededDirection } from "../randomizers/directions/directions.ts";
import { Dithered, dithered } from "../randomizers/dithered.ts";
import { epsilonOfRatio, type Guarantee, roundGuarantee } from "../randomizers/epsilon.ts";
import { finiteKernel } from "../randomizers/kernel.ts";
import { orbitKernel } from "../randomizers/orbit.ts";
import { pair } from "../randomizers/pair.ts";
import type { Randomness } from "../randomizers/random.ts";
import { randomizedResponse } from "../randomizers/randomized_response.ts";
import type { Randomizer } from "../randomizers/randomizer.ts";
import { subsetMixture, subsetSelection } from "../randomizers/subsets.ts";
import { DocumentType, MAX_ITEMS } from "./document.ts";
import { built, record, type Schema, union } from "./schema.ts";

// A new kind of randomizer is a line here.
const randomizer = union({
  randomized_response: randomizedResponse,
  subset_selection: subsetSelection,
  subset_mixture: subsetMixture,
  finite_kernel: finiteKernel,
  seeded_direction: seededDirection,
  orbit_kernel: orbitKernel,
  pair,
  coarsened,
  dithered,
}) as Schema<Randomizer>;

export class DevicePart {
  readonly domain: Domain;
  readonly guarantee: Guarantee;
  readonly randomizer: Randomizer;

  constructor(fields: { domain: Domain; guarantee: Guarantee; randomizer: Randomizer }) {
    ({ domain: this.domain, guarantee: this.guarantee, randomizer: this.randomizer } = fields);
    this.randomizer.checkDomain(this.domain.shape);
    if (this.randomizer instanceof Dithered) this.randomizer.checkOrdered(this.domain.attributes.map((each) => each.bins));
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

  /** One payload for a value by the indices of its members. */
  randomize(codes: readonly bigint[], random: Randomness): Uint8Array {
    return this.randomizer.randomize(codes, this.domain.shape, random);
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
