/** By which way reports come: straight to the server, with a token or without, or through a shuffler. */

import { later } from "../chunks.ts";
import { record, union, whole } from "./schema.ts";

const gate = union({ account: record({}), address: record({ perDay: whole(1, 10_000) }), hook: record({}) });

export const route = union({
  direct: record({}),
  direct_with_tokens: record({ gate }),
  shuffled: later("shuffled", ({ shuffled }) => shuffled),
});
