/** Checkpoints of a public log: C2SP signed notes. */

import { MalformedDocument } from "../errors.ts";
import { DASH, parted, readBase64, readHash, readNumber } from "./text.ts";

const MAX_SIGNATURES = 16;

/** A line below a note: the name of a key, the first four bytes of its id, and what it signed with. */
export interface NoteSignature {
  readonly name: string;
  readonly keyId: Uint8Array;
  readonly signature: Uint8Array;
}

/** `text` is what was signed: origin, size and root, a line each, and lines that are not looked at. */
export interface Checkpoint {
  readonly text: string;
  readonly origin: string;
  readonly size: bigint;
  readonly root: Uint8Array;
  readonly signatures: readonly NoteSignature[];
}

/** The checkpoint of a signed note; throws MalformedDocument. */
export function readCheckpoint(note: string): Checkpoint {
  const [body, isSigned, signed] = parted(note, "\n\n");
  const lines = body.split("\n");
  if (!isSigned || lines.length < 3 || !lines.every(Boolean) || !signed.endsWith("\n")) {
    throw new MalformedDocument("a checkpoint has origin, size and root, a blank line, and signatures, each a line");
  }
  const signatures = signed.slice(0, -1).split("\n");
  if (signatures.length > MAX_SIGNATURES) throw new MalformedDocument("a checkpoint has at most 16 signatures");
  const [origin, size, root] = lines as [string, string, string];
  if (origin.includes(" ")) throw new MalformedDocument("the origin of a checkpoint has no blank");
  const read = { origin, size: readNumber(size), root: readHash(root) };
  return { text: `${body}\n`, ...read, signatures: signatures.map(readSignature) };
}

function readSignature(line: string): NoteSignature {
  const [name, isParted, encoded] = parted(line.slice(DASH.length), " ");
  if (!line.startsWith(DASH) || !name || !isParted || name.includes("+")) {
    throw new MalformedDocument("a signature is a dash, a name and base64");
  }
  const content = readBase64(encoded);
  if (content.length < 5) throw new MalformedDocument("a signature is shorter than its key's id");
  return { name, keyId: content.subarray(0, 4), signature: content.subarray(4) };
}
