/** Reports on their way. */

import { InvalidValue } from "../errors.ts";
import { digest, DocumentType } from "./document.ts";
import { bytes, checked, record, whole } from "./schema.ts";

export const MAX_REPORTS = 4096;
const ID_BYTES = 16;
export const MIB_4 = 4 << 20;

export const reportBatch = new DocumentType(
  "report_batch",
  { bytes: MIB_4, items: 32 },
  checked(record({ deviceDigest: digest, ids: bytes(), payloads: bytes(), arm: whole(0, 15) }), ({ ids, payloads }) => {
    const count = ids.length / ID_BYTES;
    if (!Number.isInteger(count) || count < 1 || count > MAX_REPORTS) throw new InvalidValue("there are 1 to 4096 ids");
    if (!payloads.length || payloads.length % count) throw new InvalidValue("payloads must have one width");
  }),
);
