/** Entries of the public log: what a server asks, of whom, for how much ε. */

import { sameBytes, utf8 } from "../bytes.ts";
import { domain as domainType } from "../domains/domain.ts";
import { InvalidValue } from "../errors.ts";
import { encode } from "./cbor.ts";
import { digest, digestOf, DocumentType } from "./document.ts";
import type { Manifest } from "./manifest.ts";
import { array, checked, MAX_TIME, nullable, type Of, oneOf, record, text, union, whole, word } from "./schema.ts";
import { checkName, purpose } from "./text.ts";

/** All names of 255 attributes would not fit: so many bytes of them stand in an entry, in order. */
const NAMED_BYTES = 2048;
const name = text((each) => checkName(each, "name"));
const attribute = record({ name, largest: word(0n, (1n << 64n) - 1n) });
type LoggedAttribute = Of<typeof attribute>;

const campaign = checked(
  record({
    name,
    population: name,
    nanoEpsilon: word(0n, 10n ** 12n),
    parts: array(digest, 1, 16),
    replaces: nullable(digest),
    domain: digest,
    attributes: whole(1, 255),
    named: array(attribute, 0, 255),
  }),
  ({ attributes, named }) => {
    if (named.length > attributes) throw new InvalidValue("more attributes are named than there are");
    if (named.reduce((sum, each) => sum + bytesOf(each), 0) > NAMED_BYTES) {
      throw new InvalidValue(`the named attributes have at most ${NAMED_BYTES} bytes together`);
    }
  },
);

const signer = checked(
  record({ change: oneOf("added", "withdrawn"), expires: nullable(whole(0, MAX_TIME)) }),
  ({ change, expires }) => {
    if (expires !== null && change === "withdrawn") throw new InvalidValue("a key that is withdrawn has no end");
  },
);

const fields = record({
  at: whole(0, MAX_TIME),
  subject: digest,
  event: union({
    campaign,
    plan: record({ campaign: digest, round: whole(1, 15) }),
    end: record({ state: oneOf("closed", "cancelled") }),
    signer,
    policy: record({ text: purpose }),
    key: record({}),
  }),
});
export type LogEntry = Of<typeof fields>;

export const logEntry = new DocumentType(
  "log_entry",
  { bytes: 4 << 10, items: 1024 },
  checked(fields, ({ subject, event }) => {
    if (event.kind === "policy" && !sameBytes(digestOf(utf8(event.text)!), subject)) {
      throw new InvalidValue("the subject of a policy is the SHA-256 of its text");
    }
  }),
);

/** The entry of a manifest that was written at `at`, with the device parts that it names. */
export function entryOfManifest(manifest: Manifest, subject: Uint8Array, at: number): LogEntry {
  const { domain, assignment, rounds, deviceGuarantee, population } = manifest;
  const named: LoggedAttribute[] = [];
  let left = NAMED_BYTES;
  for (const each of domain.attributes) {
    const shown = { name: each.name, largest: each.size - 1n };
    left -= bytesOf(shown);
    if (left < 0) break;
    named.push(shown);
  }
  return {
    at,
    subject,
    event: {
      kind: "campaign",
      name: manifest.name,
      population,
      nanoEpsilon: deviceGuarantee.nano,
      parts: rounds.flatMap(({ plan }) => plan?.device ?? []),
      replaces: assignment.kind === "rotating" ? assignment.replaces : null,
      domain: digestOf(encode(domainType.write(domain))),
      attributes: domain.attributes.length,
      named,
    },
  };
}

function bytesOf(each: LoggedAttribute): number {
  return encode(attribute.write(each)).length;
}
