/** One request at a time, bounded in bytes and in time, with nothing that tells devices apart. */

import { joined } from "./bytes.ts";
import { OversizedDocument, SordinoError } from "./errors.ts";

const DEADLINE_MS = 120_000;
export const CBOR = "application/cbor";
const PROBLEM_BYTES = 64 << 10;

/** No whole answer came; whether the request arrived is not known. */
export class TransportFailed extends SordinoError {
  constructor(options?: ErrorOptions) {
    super("transport-failed", "no whole answer arrived; try again later, with a connection", options);
  }
}

export interface Answered {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly content: Uint8Array;
}

export interface Asked {
  readonly path: string;
  /** The most bytes of an answer that are read. */
  readonly limit: number;
  readonly accept?: string;
  readonly body?: Uint8Array<ArrayBuffer>;
  readonly token?: string | null;
  readonly keepalive?: boolean;
}

/** The server at `origin`; `fetch` is given, so that tests and proxies patch nothing. */
export class Transport {
  readonly origin: string;
  private readonly fetch: typeof globalThis.fetch;

  constructor(origin: string, fetch: typeof globalThis.fetch) {
    this.origin = origin;
    this.fetch = fetch;
  }

  /** The answer; throws TransportFailed where none came, and OversizedDocument. */
  async ask({ path, limit, accept = CBOR, body, token, keepalive }: Asked): Promise<Answered> {
    const headers: Record<string, string> = { accept };
    if (body) headers["content-type"] = CBOR;
    if (body && token) headers["authorization"] = `Bearer ${token}`;
    try {
      const response = await this.fetch.call(globalThis, this.origin + path, {
        method: body ? "POST" : "GET",
        headers,
        ...(body ? { body } : {}),
        credentials: "omit",
        redirect: "error",
        referrerPolicy: "no-referrer",
        ...(body || path.endsWith("/task") ? { cache: "no-store" as const } : {}),
        ...(keepalive ? { keepalive } : {}),
        signal: AbortSignal.timeout(DEADLINE_MS),
      });
      return { status: response.status, headers: response.headers, content: await read(response, limit) };
    } catch (error) {
      if (error instanceof OversizedDocument) throw error;
      throw new TransportFailed({ cause: error });
    }
  }
}

/** The body, read until it is whole or longer than the limit: a browser unpacks gzip by itself. */
async function read(response: Response, limit: number): Promise<Uint8Array> {
  const reader = response.body?.getReader();
  if (!reader) return new Uint8Array();
  const parts: Uint8Array[] = [];
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return joined(...parts);
    size += value.length;
    if (size > limit) {
      await reader.cancel();
      throw new OversizedDocument(size, limit);
    }
    parts.push(value);
  }
}

/** The type of a problem document; null for anything else, such as a proxy's page. */
export function problemSlug({ headers, content }: Answered): string | null {
  if (!/json/.test(headers.get("content-type") ?? "") || content.length > PROBLEM_BYTES) return null;
  try {
    const problem: unknown = JSON.parse(new TextDecoder().decode(content));
    const type = typeof problem === "object" && problem !== null ? (problem as { type?: unknown }).type : null;
    return typeof type === "string" && type.startsWith("/problems/") ? type.slice("/problems/".length) : null;
  } catch {
    return null;
  }
}
