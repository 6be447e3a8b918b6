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

/** An argument was refused before anything was spent. */
export class WrongArgument extends InvalidValue {
  constructor(message: string, code = "wrong-argument") {
    super(message, code);
  }
}

/** A value whose shape or names are not the domain's; nothing of the value is quoted. */
export class WrongShape extends WrongArgument {
  constructor(message: string) {
    super(message, "wrong-shape");
  }
}

/** The ledger does not know the campaign. */
export class NotJoined extends SordinoError {
  constructor(campaign: string) {
    super("not-joined", `campaign ${campaign} was never joined; call join() with its id first`);
  }
}

/** The campaign was joined at another address than this client's. */
export class ServedElsewhere extends SordinoError {
  constructor(campaign: string, origin: string) {
    super("served-elsewhere", `campaign ${campaign} was joined at ${origin}; use a client of that address`);
  }
}

/** The owner left all campaigns of this ledger. */
export class OptedOut extends SordinoError {
  constructor() {
    super("opted-out", "the owner left all campaigns of this ledger; call optIn() if the owner wants to come back");
  }
}

/** The device's clock shows no time; nothing was spent or lost. */
export class ClockUnusable extends SordinoError {
  constructor(shown: number) {
    super("clock-unusable", `the clock shows ${shown} seconds since 1970; set the device's time`);
  }
}

/** A document could not be fetched; `offline` where no server answered, or one in trouble. */
export class PlanUnavailable extends SordinoError {
  readonly status: number | null;

  constructor(what: string, reason: string, status: number | null = null) {
    super("plan-unavailable", `the ${what} could not be fetched: ${reason}; nothing was randomised or kept`);
    this.status = status;
  }

  /** Whether the task that was read last may be used. */
  get offline(): boolean {
    return this.status === null || this.status === 429 || this.status >= 500;
  }
}

/** A document is not what the device was promised; nothing was randomised. */
export class PlanRefused extends SordinoError {
  constructor(what: string, reason: string, options?: ErrorOptions) {
    super("plan-refused", `the ${what} was refused: ${reason}; report this to the operator of the campaign`, options);
  }
}

/** Spending `asked` on top of `spent` would pass `cap`; all in nano-ε. */
export class BudgetExceeded extends SordinoError {
  readonly scope: "campaign" | "period" | "lifetime";
  readonly asked: bigint;
  readonly spent: bigint;
  readonly cap: bigint;

  constructor(scope: "campaign" | "period" | "lifetime", asked: bigint, spent: bigint, cap: bigint) {
    super("budget-exceeded", `the answer costs ${asked} nano-ε, and ${spent} of ${cap} for its ${scope} are spent`);
    this.scope = scope;
    this.asked = asked;
    this.spent = spent;
    this.cap = cap;
  }
}

/** So many reports already wait to be sent. */
export class SpoolFull extends SordinoError {
  constructor(limit: number) {
    super("spool-full", `${limit} reports already wait to be sent; call flush() with a connection`);
  }
}

/** The ledger cannot be used; the step that needed it did not happen. */
export class LedgerUnavailable extends SordinoError {
  constructor(reason: string, options?: ErrorOptions) {
    super("ledger-unavailable", `the ledger cannot be used: ${reason}. Nothing was spent or lost`, options);
  }
}
