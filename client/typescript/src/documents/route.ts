/** By which way reports come: straight to the server, with a token or without, or through a shuffler. */

import { later } from "../chunks.ts";
import { record, union } from "./schema.ts";

export const route = union({
  direct: record({}),
  direct_with_tokens: later("tokens", ({ directWithTokens }) => directWithTokens),
  shuffled: later("shuffled", ({ shuffled }) => shuffled),
});
