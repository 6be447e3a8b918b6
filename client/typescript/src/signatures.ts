/** Whether one of the keys that an app pins signed a manifest. */

import { fromHex, joined, sameBytes, toHex, utf8 } from "./bytes.ts";
import { verify } from "./curve/ed25519.ts";
import { digestOf } from "./documents/document.ts";
import { manifestSignatures } from "./documents/finding.ts";
import type { Manifest } from "./documents/manifest.ts";
import { PlanRefused, PlanUnavailable, WrongArgument } from "./errors.ts";
import { fetched } from "./fetching.ts";
import { reading } from "./rules/tasks.ts";
import type { Transport } from "./transport.ts";

const CONTEXT = new TextEncoder().encode("sordino manifest v1\0");

/** Throws WrongArgument unless these are up to four public keys. */
export function checkKeys(keys: readonly string[]): void {
  // A page without types may give one key alone.
  const isWritten = Array.isArray(keys) && keys.every((key) => typeof key === "string" && /^[0-9a-f]{64}$/.test(key));
  if (!isWritten || keys.length > 4 || new Set(keys).size < keys.length) {
    throw new WrongArgument("manifestKeys are up to 4 different Ed25519 keys of 64 hexadecimal digits");
  }
}

/** The signatures of a manifest; null where there are none. */
export async function fetchSignatures(transport: Transport, campaign: string): Promise<Uint8Array | null> {
  try {
    const path = `/v1/campaigns/${campaign}/signature`;
    return (await fetched(transport, "signature", path, manifestSignatures.limit)).content;
  } catch (error) {
    if (error instanceof PlanUnavailable && error.status === 404) return null;
    throw error;
  }
}

/** Throws PlanRefused unless a signature in `content` is that of one of the keys. */
export function checkSigned(
  { population }: Manifest,
  campaign: string,
  content: Uint8Array | null,
  keys: readonly string[],
): void {
  if (content === null) throw new PlanRefused("signature", "nobody signed the manifest, and this app pins keys");
  const id = fromHex(campaign);
  const signed = reading("signature", () => manifestSignatures.read(content));
  if (!sameBytes(signed.campaign, id)) throw new PlanRefused("signature", "it belongs to another campaign");
  const message = joined(CONTEXT, digestOf(utf8(population)!), id);
  const pinned = signed.signatures.filter(({ key }) => keys.includes(toHex(key)));
  if (!pinned.some(({ key, signature }) => verify(key, signature, message))) {
    throw new PlanRefused("signature", "none of the keys that this app pins signed the manifest");
  }
}
