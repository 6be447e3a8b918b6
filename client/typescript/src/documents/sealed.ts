/** Sealed reports on their way to a shuffler, and what it says of them after its commit. */

import { InvalidValue } from "../errors.ts";
import { DocumentType } from "./document.ts";
import { MAX_REPORTS, MIB_4 } from "./reports.ts";
import { bytes, checked, record, whole } from "./schema.ts";

const SEALING_BYTES = 48;

export const sealedReports = new DocumentType(
  "sealed_reports",
  { bytes: MIB_4, items: 32 },
  checked(record({ sealed: bytes(), count: whole(1, MAX_REPORTS) }), ({ sealed, count }) => {
    if (sealed.length % count || sealed.length / count <= SEALING_BYTES) {
      throw new InvalidValue("sealed reports have one width of more than 48 bytes");
    }
  }),
);

export const sealedOutcomes = new DocumentType(
  "sealed_outcomes",
  { bytes: 256, items: 32 },
  checked(record({ accepted: whole(0, MAX_REPORTS), replayed: whole(0, MAX_REPORTS) }), ({ accepted, replayed }) => {
    const count = accepted + replayed;
    if (count < 1 || count > MAX_REPORTS) throw new InvalidValue("there are 1 to 4096 outcomes");
  }),
);
