/** The golden vectors of tests/vectors, read in place. */

import { readFileSync } from "node:fs";

// Documents are read without waiting for code.
import "../src/all.ts";
import { Float, type Plain } from "../src/documents/cbor.ts";
import { devicePart } from "../src/documents/part.ts";
import type { DocumentType } from "../src/documents/document.ts";
import { manifestSignatures, openCampaigns } from "../src/documents/finding.ts";
import { manifest } from "../src/documents/manifest.ts";
import { reportOutcomes } from "../src/documents/outcomes.ts";
import { reportBatch } from "../src/documents/reports.ts";
import { sealedOutcomes, sealedReports } from "../src/documents/sealed.ts";
import { logEntry } from "../src/documents/log_entry.ts";
import { tokenEvaluations, tokenRequest } from "../src/documents/tokens.ts";
import { task } from "../src/documents/task.ts";

export const FOLDER = new URL("../../../tests/vectors/v1/", import.meta.url);

/** The documents that a device reads or writes, by their names. */
export const DOCUMENTS: Record<string, DocumentType<any>> = {
  manifest,
  task,
  device_part: devicePart,
  open_campaigns: openCampaigns,
  manifest_signatures: manifestSignatures,
  report_batch: reportBatch,
  report_outcomes: reportOutcomes,
  sealed_reports: sealedReports,
  sealed_outcomes: sealedOutcomes,
  log_entry: logEntry,
  token_request: tokenRequest,
  token_evaluations: tokenEvaluations,
};

/** The vectors of a file. */
export function vectors(file: string): any {
  return JSON.parse(readFileSync(new URL(`${file}.json`, FOLDER), "utf8"), (_, value, context?: any) => {
    // A number with a point or an exponent is a float, which JSON.parse does not tell from an integer.
    return typeof value === "number" && /[.eE]/.test(context.source) ? new Float(value) : value;
  });
}

/** What a vector means, as a plain value. */
export function plain(meaning: any): Plain {
  if (typeof meaning === "number") return BigInt(meaning);
  if (Array.isArray(meaning)) return meaning.map(plain);
  if (typeof meaning !== "object" || meaning === null || meaning instanceof Float) return meaning;
  const names = Object.keys(meaning).join();
  if (names === "bytes") return bytesOf(meaning.bytes);
  if (names === "integer") return BigInt(meaning.integer);
  return new Map(Object.entries(meaning).map(([name, item]) => [name, plain(item)]));
}

/** A value that an app passes, as vectors write it. */
export function value(meaning: any): unknown {
  if (meaning instanceof Float) return meaning.value;
  if (Array.isArray(meaning)) return meaning.map(value);
  if (typeof meaning !== "object" || meaning === null) return meaning;
  if (Object.keys(meaning).join() === "integer") return BigInt(meaning.integer);
  return Object.fromEntries(Object.entries(meaning).map(([name, item]) => [name, value(item)]));
}

/** The bytes of hexadecimal digits. */
export function bytesOf(hex: string): Uint8Array {
  return new Uint8Array(Buffer.from(hex, "hex"));
}
