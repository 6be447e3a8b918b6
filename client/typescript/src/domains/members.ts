/** What all attributes offer, and the members `missing` and `other` that may follow the listed ones. */

import { InvalidValue, OutsideDomain } from "../errors.ts";

export const MAX_MEMBERS = 1 << 19;
const KINDS = { bigint: "an integer", string: "a text" } as Record<string, string>;

/** An attribute: `size` members, of which the first `listed` are its own; a document holds `entries` of them. */
export interface Attribute {
  readonly kind: string;
  readonly name: string;
  readonly size: bigint;
  readonly listed: bigint;
  readonly entries: number;
  /** How many members have an order, from the first on. */
  readonly bins: bigint;
  /** The name under which a value by name has it. */
  readonly key: string;
  /** The index of the member of a value; every value has one unless `strict`, which throws OutsideDomain. */
  encode(value: unknown, strict: boolean): bigint;
  /** What a person reads for a member. */
  label(index: bigint): string;
}

interface Trailing {
  readonly name: string;
  readonly listed: bigint;
  readonly missing: boolean;
  readonly other: boolean;
}

/** Labels of the members that follow the listed ones. */
export function trailing(missing: boolean, other: boolean): string[] {
  return [...(missing ? ["missing"] : []), ...(other ? ["other"] : [])];
}

/** The label of a member that follows the listed ones. */
export function trailingLabel(attribute: Trailing, index: bigint): string {
  return trailing(attribute.missing, attribute.other)[Number(index - attribute.listed)]!;
}

/** How many members follow the listed ones. */
export function trailingCount(missing: boolean, other: boolean): bigint {
  return BigInt(missing) + BigInt(other);
}

/** The index of a value that is not listed. */
export function unlisted(attribute: Trailing, value: unknown, strict: boolean): bigint {
  if (attribute.missing && isMissing(value)) return attribute.listed;
  if (strict) {
    const found = isMissing(value) ? "no value" : (KINDS[typeof value] ?? `a ${typeof value}`);
    throw new OutsideDomain(`attribute "${attribute.name}" does not list what it was given, ${found}`, attribute.name);
  }
  return attribute.other ? attribute.listed + BigInt(attribute.missing) : 0n;
}

/** Whether a value stands for no value. */
function isMissing(value: unknown): boolean {
  return value === null || value === undefined || Number.isNaN(value);
}

/** Throws where no document has room for so many labels or edges. */
export function checkListable(count: number, name: string): void {
  if (count > MAX_MEMBERS) throw new InvalidValue(`attribute "${name}" lists ${count} members, at most ${MAX_MEMBERS}`);
}

/** Throws where a value occurs twice. */
export function checkDistinct(values: readonly unknown[], what: string): void {
  if (new Set(values).size < values.length) throw new InvalidValue(`${what} must be distinct`);
}
