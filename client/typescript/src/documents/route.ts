/** By which way reports come: straight to the server, with a token or without, or through a shuffler. */

import { later } from "../chunks.ts";
import { issuer } from "./issuer.ts";
import { record, union } from "./schema.ts";

export const route = union({
  direct: record({}),
  direct_with_tokens: record({ issuer }),
  shuffled: later("shuffled", ({ shuffled }) => shuffled),
});
