/** What a server says of reports after its commit. */

import { InvalidValue } from "../errors.ts";
import { DocumentType, rising } from "./document.ts";
import { MAX_REPORTS } from "./reports.ts";
import { checked, oneOf, record, whole } from "./schema.ts";

const refused = record({
  index: whole(0, MAX_REPORTS - 1),
  reason: oneOf(
    "report-id-conflict",
    "payload-outside-alphabet",
    "wrong-epoch",
    "round-full",
    "token-invalid",
    "token-spent",
  ),
});

export const reportOutcomes = new DocumentType(
  "report_outcomes",
  { bytes: 1 << 20, items: 8 * MAX_REPORTS },
  checked(
    record({
      accepted: whole(0, MAX_REPORTS),
      replayed: whole(0, MAX_REPORTS),
      refused: rising(refused, [0, MAX_REPORTS], ({ index }) => index, (first, second) => first - second),
    }),
    ({ accepted, replayed, refused: list }) => {
      const count = accepted + replayed + list.length;
      if (count < 1 || count > MAX_REPORTS) throw new InvalidValue("there are 1 to 4096 outcomes");
      if (list.length && list.at(-1)!.index >= count) throw new InvalidValue("there is no such report");
    },
  ),
);
