/** Documents of a server, fetched and checked: a digest is recomputed, ε is proved, before anything is used. */

import { fromHex, toHex } from "./bytes.ts";
import { type Manifest, manifest as manifestType } from "./documents/manifest.ts";
import { type DevicePart, devicePart } from "./documents/part.ts";
import { task as taskType } from "./documents/task.ts";
import { OversizedDocument, PlanRefused, PlanUnavailable } from "./errors.ts";
import { reading } from "./rules/tasks.ts";
import { type Answered, CBOR, problemSlug, type Transport, TransportFailed } from "./transport.ts";

/** A device part with its digest and the nano-ε that its integers prove. */
export interface VerifiedPart {
  readonly digest: Uint8Array;
  readonly part: DevicePart;
  readonly proved: bigint;
}

/** The bytes of a manifest; they are not checked yet. */
export async function fetchManifest(transport: Transport, campaign: string): Promise<Uint8Array> {
  return (await fetched(transport, "manifest", `/v1/campaigns/${campaign}`, manifestType.limit)).content;
}

/** The manifest that a campaign's id names. */
export function readManifest(content: Uint8Array, campaign: string): Manifest {
  return reading("manifest", () => manifestType.read(content, fromHex(campaign)));
}

/** The whole answer with the task, for its headers. */
export function fetchTask(transport: Transport, campaign: string): Promise<Answered> {
  return fetched(transport, "task", `/v1/campaigns/${campaign}/task`, taskType.limit);
}

/** The bytes of a plan; they are not checked yet. */
export async function fetchPart(transport: Transport, digest: Uint8Array, limit: number): Promise<Uint8Array> {
  return (await fetched(transport, "plan", `/v1/plans/${toHex(digest)}`, limit)).content;
}

/** The device part that a digest names, with ε proved. */
export function verifyPart(content: Uint8Array, digest: Uint8Array): VerifiedPart {
  return reading("plan", () => {
    const part = devicePart.read(content, digest);
    return { digest, part, proved: part.prove() };
  });
}

/** An answer with status 200 and this media type; throws PlanUnavailable, and PlanRefused for one that is too long. */
export async function fetched(
  transport: Transport,
  what: string,
  path: string,
  limit: number,
  accept = CBOR,
  body?: Uint8Array<ArrayBuffer>,
): Promise<Answered> {
  try {
    const answer = await transport.ask({ path, limit, accept, ...(body && { body }) });
    if (answer.status !== 200) {
      const slug = problemSlug(answer);
      throw new PlanUnavailable(what, `HTTP ${answer.status}${slug === null ? "" : ` (${slug})`}`, answer.status);
    }
    const type = (answer.headers.get("content-type") ?? accept).split(";")[0]!.trim().toLowerCase();
    // A page in the server's place, such as the login page of a network.
    if (type !== accept) throw new PlanUnavailable(what, `the answer is ${type.slice(0, 100)}, not ${accept}`);
    return answer;
  } catch (error) {
    if (error instanceof TransportFailed) throw new PlanUnavailable(what, error.message);
    if (error instanceof OversizedDocument) throw new PlanRefused(what, error.message, { cause: error });
    throw error;
  }
}
