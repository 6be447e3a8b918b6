/** How a device finds campaigns: what is open for a population, and who signed a manifest. */

import { compareBytes } from "../bytes.ts";
import { digest, DocumentType, rising, SIGNATURE_BYTES } from "./document.ts";
import { bytes, record, text, whole } from "./schema.ts";
import { checkName } from "./text.ts";

export const openCampaigns = new DocumentType(
  "open_campaigns",
  { bytes: 16 << 10, items: 512 },
  record({
    population: text((each) => checkName(each, "population")),
    number: whole(0, 2 ** 40),
    campaigns: rising(digest, [0, 256], (each) => each, compareBytes),
  }),
);

export const manifestSignatures = new DocumentType(
  "manifest_signatures",
  { bytes: 1 << 10, items: 32 },
  record({
    campaign: digest,
    signatures: rising(
      record({ key: bytes(32), signature: bytes(SIGNATURE_BYTES) }),
      [1, 4],
      ({ key }) => key,
      compareBytes,
    ),
  }),
);
