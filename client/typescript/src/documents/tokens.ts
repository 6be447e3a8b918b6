/** How a device asks for a token, and what the issuer answers. */

import { InvalidValue } from "../errors.ts";
import { DocumentType, SIGNATURE_BYTES } from "./document.ts";
import { bytes, checked, record } from "./schema.ts";

const ELEMENT_BYTES = 32;
const MAX_BLINDED = 200;
export const MAX_CREDENTIAL = 16 << 10;

const elements = checked(bytes(), ({ length }) => {
  if (!length || length % ELEMENT_BYTES || length > MAX_BLINDED * ELEMENT_BYTES) {
    throw new InvalidValue(`there are 1 to ${MAX_BLINDED} elements of ${ELEMENT_BYTES} bytes`);
  }
});
const credential = checked(bytes(), ({ length }) => {
  if (length > MAX_CREDENTIAL) throw new InvalidValue(`a credential has at most ${MAX_CREDENTIAL} bytes`);
});

export const tokenRequest = new DocumentType("token_request", { bytes: 32 << 10, items: 32 }, record({ blinded: elements, credential }));
/** The proof has as many bytes as a signature. */
export const tokenEvaluations = new DocumentType(
  "token_evaluations",
  { bytes: 8 << 10, items: 32 },
  record({ evaluated: elements, proof: bytes(SIGNATURE_BYTES) }),
);
