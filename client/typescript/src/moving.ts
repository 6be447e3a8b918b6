/** What holds whichever address a campaign was joined at: the arm, and the move to another address of its server. */

import { sameBytes, fromHex } from "./bytes.ts";
import { withCode } from "./chunks.ts";
import type { Device } from "./device.ts";
import type { Manifest } from "./documents/manifest.ts";
import { NotJoined, OptedOut, PlanRefused, ServedElsewhere, WrongArgument } from "./errors.ts";
import { fetchManifest, readManifest } from "./fetching.ts";
import type { Joined } from "./ledgers/ledger.ts";
import { originOf } from "./options.ts";
import { hasLeft } from "./rules/answering.ts";

/** The campaign names its servers, and this client's is another one than the device keeps to: it does not move. */
export class ServerChanged extends ServedElsewhere {
  override readonly code = "server-changed";
}

/** The name of the drawn arm, from the ledger alone; null without arms, and after the owner left. */
export async function armOf(device: Device, id: string): Promise<string | null> {
  const joined = await joinedAnywhere(device, id);
  const manifest = await device.manifestOf(id, joined);
  checkSameServer(id, manifest, joined.origin, device.transport.origin);
  const isLeft = await device.transaction((state) => hasLeft(state, id));
  return joined.arm === null || isLeft ? null : manifest.arms[joined.arm]!.name;
}

/** Moves a campaign to this client's address, once that has shown the same manifest; its reports may go at once. */
export async function rehome(device: Device, id: string, address: string): Promise<void> {
  const { transport } = device;
  if (originOf({ ...device.options, server: address, allowHttp: true }) !== transport.origin) {
    throw new WrongArgument(`this client talks to ${transport.origin}; rehome with a client of the other address`);
  }
  const joined = await joinedAnywhere(device, id);
  checkSameServer(id, await device.manifestOf(id, joined), joined.origin, transport.origin);
  const content = await fetchManifest(transport, id);
  await withCode(() => readManifest(content, id));
  if (!sameBytes(content, fromHex(joined.manifest))) throw new PlanRefused("manifest", "it is not the one that was joined");
  await device.transaction((state) => {
    if (state.leftAllAt !== null) throw new OptedOut();
    state.campaigns[id] = { ...state.campaigns[id]!, origin: transport.origin };
    for (const each of state.reports) if (each.campaign === id) Object.assign(each, { failures: 0, notBefore: 0 });
  });
}

async function joinedAnywhere(device: Device, id: string): Promise<Joined> {
  const joined = await device.transaction((state) => state.campaigns[id]);
  if (!joined) throw new NotJoined(id);
  return joined;
}

/** A report that two servers of a campaign counted would count twice. */
function checkSameServer(id: string, { route, servers }: Manifest, origin: string, own: string): void {
  const named = route.kind === "shuffled" ? [route.shuffler] : servers;
  const source = named.find(({ urls }) => urls.includes(origin));
  if (origin !== own && named.length && !source?.urls.includes(own)) throw new ServerChanged(id, origin);
}
