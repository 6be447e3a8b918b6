/** The token of a round's report: drawn and kept before it is asked for, so that no failure costs or doubles one. */

import { fromHex, joined, littleEndian, toHex, toLittleEndian } from "../bytes.ts";
import type { Manifest } from "../documents/manifest.ts";
import { MAX_CREDENTIAL, tokenEvaluations, tokenRequest } from "../documents/tokens.ts";
import type { Device, Session } from "../device.ts";
import { PlanRefused, PlanUnavailable, SordinoError } from "../errors.ts";
import { fetched } from "../fetching.ts";
import type { AppCall } from "../options.ts";
import { reading } from "../rules/tasks.ts";
import { SECRET_BYTES } from "./coin.ts";
import { blinded, drawScalar, finalize } from "./voprf.ts";

/** The token of an open round, from the ledger or the issuer; null in a campaign without tokens. */
export async function tokenOf(device: Device, session: Session, round: number): Promise<Uint8Array | null> {
  const issuer = issuerOf(session.manifest);
  if (!issuer || device.options.dryRun) return null;
  const name = `${session.id} ${round}`;
  // Drawn once, and committed before anybody is asked: after a lost answer the same bytes go out.
  const drawn = await device.transaction((state) => {
    state.tokens ??= {};
    const secret = () => toHex(device.random.bytes(SECRET_BYTES));
    const blind = () => toHex(toLittleEndian(drawScalar(device.random), 32));
    return { ...(state.tokens[name] ??= { secret: secret(), blind: blind(), token: null }) };
  });
  if (drawn.token !== null) return fromHex(drawn.token);
  const [secret, blind] = [fromHex(drawn.secret), littleEndian(fromHex(drawn.blind))];
  const answer = await ask(device, session, round, blinded(secret, blind));
  const token = reading("token", () => {
    const output = finalize(secret, blind, tokenEvaluations.read(answer), issuer.keys[round]!);
    return joined(secret, output.subarray(0, SECRET_BYTES));
  });
  await device.transaction((state) => {
    // The round may have been answered meanwhile.
    if (state.tokens?.[name]) state.tokens[name] = { ...drawn, token: toHex(token) };
  });
  return token;
}

/** Gets the token of the open round now, so that it answers without the issuer; what fails is tried again. */
export async function tokenAhead(device: Device, session: Session, round: number): Promise<void> {
  try {
    await tokenOf(device, session, round);
  } catch (error) {
    if (!(error instanceof PlanUnavailable || error instanceof PlanRefused)) throw error;
  }
}

function issuerOf({ route }: Manifest) {
  return route.kind === "direct" ? null : route.issuer;
}

/** The bytes of the issuer's answer, from the server or from the app's backend. */
async function ask(device: Device, { id, manifest }: Session, round: number, element: Uint8Array): Promise<Uint8Array> {
  const { issue, attest } = device.options;
  const { kind } = issuerOf(manifest)!.gate;
  if (kind === "account") {
    if (!issue) throw new PlanRefused("token", "tokens of this campaign come from the app's backend: give `issue`");
    return called("issue", () => issue(id, round, element));
  }
  const credential = kind === "hook" && attest ? await called("attest", () => attest(id, round, element)) : new Uint8Array();
  if (credential.length > MAX_CREDENTIAL) {
    throw new PlanUnavailable("token", `attest() of the app gives at most ${MAX_CREDENTIAL} bytes`);
  }
  const body = tokenRequest.write({ blinded: element, credential });
  const path = `/v1/campaigns/${id}/rounds/${round}/tokens`;
  return (await fetched(device.transport, "token", path, tokenEvaluations.limit, undefined, body)).content;
}

/** What a function of the app gives; its errors leave the answer for later. */
async function called(name: string, call: () => ReturnType<AppCall>): Promise<Uint8Array> {
  let given: Uint8Array;
  try {
    given = await call();
  } catch (error) {
    if (error instanceof SordinoError) throw error;
    throw new PlanUnavailable("token", `${name}() of the app failed: ${String(error)}`);
  }
  if (!(given instanceof Uint8Array)) throw new PlanUnavailable("token", `${name}() of the app gives bytes`);
  return given;
}
