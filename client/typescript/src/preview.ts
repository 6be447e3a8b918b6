/** What an answer would send, for the device's owner to see before it does. */

import { decimal, fromHex, joined as joinedBytes, toHex } from "./bytes.ts";
import { load } from "./chunks.ts";
import type { Device } from "./device.ts";
import { InvalidValue, PlanUnavailable, WrongShape } from "./errors.ts";
import { reportBody } from "./rules/answering.ts";

/** A token's, behind the payload. */
const TOKEN_BYTES = 32;

/**
 * An answer to `round` that was not given: nothing was debited, kept or sent.
 *
 * `guarantee` is the nano-ε that the integers of `plan` prove. An upload to `server` has `uploadBytes`, of which
 * `payloadBytes` depend on the value. `example` is one draw; the report would be another one. Show it to the owner, and
 * neither send nor log it: it reveals as much of the value as a report does.
 */
export interface Preview {
  readonly campaign: string;
  readonly server: string;
  readonly round: number;
  readonly plan: string;
  readonly guarantee: bigint;
  readonly payloadBytes: number;
  readonly uploadBytes: number;
  readonly example: Uint8Array;
  toString(): string;
}

/** The label of what a value is in a campaign; spends and sends nothing. */
export async function check(device: Device, campaign: string, value: unknown): Promise<string> {
  const { domain } = (await device.session(campaign)).manifest;
  try {
    domain.checkShape(value);
  } catch (error) {
    throw error instanceof InvalidValue ? new WrongShape(error.message) : error;
  }
  return domain.describe(domain.codes(value, true));
}

/** Draws, measures and throws away; without a value that of the first members. No request. */
export async function preview(device: Device, campaign: string, value: unknown, isExample: boolean): Promise<Preview> {
  const session = await device.session(campaign);
  const { joined, manifest } = session;
  const kept = await device.transaction((state) => Object.keys(state.parts));
  const known = Object.entries(joined.plans).filter(([, digest]) => kept.includes(digest));
  const [number, plan] = known.at(-1) ?? [];
  if (plan === undefined) throw new PlanUnavailable("plan", "it was never fetched; answer or join with a connection first");
  const round = Number(number);
  const verified = await device.part(session, round, fromHex(plan));
  const { part, proved } = verified;
  const codes = isExample ? part.domain.attributes.map(() => 0n) : device.codes(verified, manifest, round, value);
  const example = part.randomize(codes, device.random);
  const { arms, route } = manifest;
  const hasToken = route.kind !== "direct" && route.issuer !== null;
  const sent = joinedBytes(example, new Uint8Array(hasToken ? TOKEN_BYTES : 0));
  const uploadBytes =
    route.kind === "shuffled"
      ? (await load("shuffled")).sealedBytes(sent.length, arms.length)
      : reportBody(verified.digest, 0, sent, joined.arm, device.random).length;
  const { origin: server } = device.transport;
  const shown = toHex(example);
  const told = [
    `campaign ${campaign}, round ${round}`,
    `plan     ${plan}`,
    `spends   ε ${decimal(proved)}`,
    `sends    ${uploadBytes} bytes to ${server}, ${example.length} of them depend on the value`,
    `example  ${shown.slice(0, 32)}${shown.length > 32 ? "…" : ""}`,
  ].join("\n");
  const sizes = { payloadBytes: example.length, uploadBytes };
  return { campaign, server, round, plan, guarantee: proved, ...sizes, example, toString: () => told };
}
