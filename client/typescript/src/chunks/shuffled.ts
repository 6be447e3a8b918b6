/** Campaigns whose reports go through a shuffler. */

export { shuffled } from "../documents/shuffled.ts";
