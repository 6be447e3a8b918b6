/** Reports on their way, plain and sealed, and what the server says of them after its commit. */

import { InvalidValue } from "../errors.ts";
import { digest, DocumentType, rising } from "./document.ts";
import { bytes, checked, oneOf, record, whole } from "./schema.ts";

const MAX_REPORTS = 4096;
const ID_BYTES = 16;
const SEALING_BYTES = 48;
const MIB_4 = 4 << 20;

export const reportBatch = new DocumentType(
  "report_batch",
  { bytes: MIB_4, items: 32 },
  checked(record({ deviceDigest: digest, ids: bytes(), payloads: bytes(), arm: whole(0, 15) }), ({ ids, payloads }) => {
    const count = ids.length / ID_BYTES;
    if (!Number.isInteger(count) || count < 1 || count > MAX_REPORTS) throw new InvalidValue("there are 1 to 4096 ids");
    if (!payloads.length || payloads.length % count) throw new InvalidValue("payloads must have one width");
  }),
);

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
