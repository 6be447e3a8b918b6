/** Texts of the public log, read strictly: every number, hash and byte has one spelling. */

import { MalformedDocument } from "../errors.ts";

export const DASH = "\u2014 ";
const MOST = (1n << 63n) - 1n;
const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** ASCII, line feeds, and the dash before signatures; throws MalformedDocument for other bytes. */
export function readText(content: Uint8Array): string {
  let text: string;
  try {
    text = DECODER.decode(content);
  } catch {
    throw new MalformedDocument("a proof is text in UTF-8");
  }
  if (!/^[ -~\n]*$/.test(text.replaceAll(DASH, ""))) {
    throw new MalformedDocument("a proof has characters of ASCII, line feeds, and dashes before signatures");
  }
  return text;
}

/** A text at the first place of `by`: before it, whether it is there, behind it. */
export function parted(text: string, by: string): [string, boolean, string] {
  const at = text.indexOf(by);
  return at < 0 ? [text, false, ""] : [text.slice(0, at), true, text.slice(at + by.length)];
}

/** What follows the first word of a line; throws MalformedDocument for another word. */
export function after(word: string, line: string | undefined): string {
  if (!line?.startsWith(`${word} `)) throw new MalformedDocument(`a line of a proof begins with "${word}"`);
  return line.slice(word.length + 1);
}

/** A decimal number below 2⁶³ without a leading zero. */
export function readNumber(text: string): bigint {
  if (!/^(0|[1-9][0-9]{0,18})$/.test(text) || BigInt(text) > MOST) {
    throw new MalformedDocument("numbers of a proof are decimal, below 2^63, without leading zeros");
  }
  return BigInt(text);
}

/** The bytes of base64 in its one spelling. */
export function readBase64(text: string): Uint8Array<ArrayBuffer> {
  let bytes = "";
  try {
    bytes = atob(text);
  } catch {
    throw new MalformedDocument("bytes of a proof are in base64");
  }
  if (btoa(bytes) !== text) throw new MalformedDocument("base64 has one spelling");
  return Uint8Array.from(bytes, (each) => each.charCodeAt(0));
}

export function writtenBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/** A hash of 32 bytes. */
export function readHash(text: string): Uint8Array<ArrayBuffer> {
  const found = readBase64(text);
  if (found.length !== 32) throw new MalformedDocument(`a hash has 32 bytes, got ${found.length}`);
  return found;
}
