/** The kinds of randomizers that are made of no others; a new one is a line here. */

import { later } from "../chunks.ts";
import { randomizedResponse } from "./randomized_response.ts";

export const basic = {
  randomized_response: randomizedResponse,
  subset_selection: later("subsets", ({ subsetSelection }) => subsetSelection),
  subset_mixture: later("subsets", ({ subsetMixture }) => subsetMixture),
  finite_kernel: later("kernel", ({ finiteKernel }) => finiteKernel),
  seeded_direction: later("directions", ({ seededDirection }) => seededDirection),
  orbit_kernel: later("orbit", ({ orbitKernel }) => orbitKernel),
};
