/** Errors of the SDK: names as in the Python client. No message quotes a value that a device holds. */

/** Root of every error that the SDK throws on purpose; `code` is for programs. */
export class SordinoError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** An argument or a field was refused. */
export class InvalidValue extends SordinoError {
  constructor(message: string, code = "invalid-value") {
    super(code, message);
  }
}

/** A value that its attribute does not list; thrown where an app asks for `strict` alone. */
export class OutsideDomain extends InvalidValue {
  readonly attribute: string;

  constructor(message: string, attribute: string) {
    super(message, "outside-domain");
    this.attribute = attribute;
  }
}

/** Bytes that break the protocol; `path` says where. */
export class MalformedDocument extends SordinoError {
  readonly path: string;

  constructor(message: string, path = "") {
    super("malformed-document", path ? `${path}: ${message}` : message);
    this.path = path;
  }
}

/** A document of more bytes than its reader takes. */
export class OversizedDocument extends SordinoError {
  constructor(size: number, limit: number) {
    super("oversized-document", `the document has ${size} bytes, at most ${limit} are read`);
  }
}

/** A document of another version of the protocol. */
export class UnsupportedVersion extends SordinoError {
  constructor(found: bigint) {
    super("unsupported-version", `the document is of version ${found} of the protocol; this code reads version 1`);
  }
}

/** Bytes that are not those that a digest names. */
export class DigestMismatch extends SordinoError {
  constructor() {
    super("digest-mismatch", "the bytes are not those that the digest names");
  }
}

/** The integers of a randomizer prove `proved` nano-ε (null: no finite ε), more than `claimed`. */
export class GuaranteeNotMet extends SordinoError {
  readonly claimed: bigint;
  readonly proved: bigint | null;

  constructor(claimed: bigint, proved: bigint | null) {
    super("guarantee-not-met", `the plan claims ${claimed} nano-ε, its integers prove ${proved ?? "no finite ε"}`);
    this.claimed = claimed;
    this.proved = proved;
  }
}
