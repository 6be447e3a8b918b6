/** Randomizers that are made of others. */

export { dithered } from "../randomizers/dithered.ts";
export { pair } from "../randomizers/pair.ts";
