/** A server of one campaign behind `fetch`, made of good documents: for tests of the client. */

import { toHex } from "../src/bytes.ts";
import { digestOf } from "../src/documents/document.ts";
import { type Manifest, manifest as manifestType } from "../src/documents/manifest.ts";
import { devicePart } from "../src/documents/part.ts";
import { reportOutcomes } from "../src/documents/outcomes.ts";
import { reportBatch } from "../src/documents/reports.ts";
import { type Task, task as taskType } from "../src/documents/task.ts";
import { bytesOf, vectors } from "./vectors.ts";

export const ADDRESS = "https://telemetry.example";
export const NOW = 1_800_000_100;

export class World {
  readonly part: Uint8Array<ArrayBuffer>;
  readonly manifest: Uint8Array<ArrayBuffer>;
  readonly campaign: string;
  task: Task;
  /** What was asked, and the reports that came, by their ids. */
  readonly asked: { method: string; path: string; headers: Headers }[] = [];
  readonly reports = new Map<string, string>();
  readonly bodies: Uint8Array[] = [];
  /** In place of an answer: an error is thrown. */
  instead: ((path: string, init?: RequestInit) => Response | Error | null) | null = null;

  /** With other fields of the manifest, or another device part of the vectors. */
  constructor(changes: Partial<Manifest> = {}, part?: string) {
    const trace = vectors("good/trace").documents;
    const found = part && vectors("good/device_part").vectors.find(({ name }: { name: string }) => name === part);
    this.part = bytesOf((found ?? trace.device_part).hex) as Uint8Array<ArrayBuffer>;
    const { domain, guarantee } = devicePart.read(this.part);
    const read = manifestType.read(bytesOf(trace.manifest.hex));
    const plan = { device: digestOf(this.part), analyst: read.rounds[0]!.plan!.analyst };
    this.manifest = manifestType.write({
      ...read,
      domain,
      deviceGuarantee: guarantee,
      rounds: [{ guarantee, plan }],
      ...changes,
    });
    const campaign = digestOf(this.manifest);
    this.campaign = toHex(campaign);
    this.task = { ...taskType.read(bytesOf(trace.task.hex)), campaign, deviceParts: [plan.device] };
  }

  readonly fetch = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const path = String(url).slice(ADDRESS.length);
    this.asked.push({ method: init?.method ?? "GET", path, headers: new Headers(init?.headers) });
    const instead = this.instead?.(path, init) ?? null;
    if (instead instanceof Error) throw instead;
    return instead ?? this.answer(path, init);
  };

  private answer(path: string, init?: RequestInit): Response {
    if (path === `/v1/campaigns/${this.campaign}`) return cbor(this.manifest);
    if (path === `/v1/campaigns/${this.campaign}/task`) return cbor(taskType.write(this.task));
    if (path === `/v1/plans/${toHex(digestOf(this.part))}`) return cbor(this.part);
    if (path.endsWith("/reports")) return this.take(init!.body as Uint8Array);
    return problem(404, "not-found");
  }

  private take(body: Uint8Array): Response {
    this.bodies.push(body);
    const { ids, payloads } = reportBatch.read(body);
    const id = toHex(ids);
    const known = this.reports.has(id);
    this.reports.set(id, toHex(payloads));
    return cbor(reportOutcomes.write({ accepted: known ? 0 : 1, replayed: known ? 1 : 0, refused: [] }));
  }

  /** The value of the one attribute that the manifest's domain has. */
  get domain() {
    return devicePart.read(this.part).domain;
  }
}

export function cbor(content: Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}): Response {
  return new Response(content, { headers: { "content-type": "application/cbor", ...headers } });
}

export function problem(status: number, slug: string, headers: Record<string, string> = {}): Response {
  const body = JSON.stringify({ type: `/problems/${slug}`, status });
  return new Response(body, { status, headers: { "content-type": "application/problem+json", ...headers } });
}
