/** A product of attributes: what a device may hold, and how it becomes one index an attribute. */

import { code, later } from "../chunks.ts";
import { array, built, record, type Schema, union } from "../documents/schema.ts";
import { InvalidValue } from "../errors.ts";
import { categorical } from "./categorical.ts";
import { type Attribute, checkDistinct, MAX_MEMBERS } from "./members.ts";
import type { Text } from "./strings.ts";

const MAX_ATTRIBUTES = 255;
const MAX_CELLS = 1n << 62n;

export class Domain {
  readonly attributes: readonly Attribute[];
  readonly shape: readonly bigint[];
  readonly size: bigint;
  private readonly text: Text | null;

  constructor({ attributes }: { attributes: readonly Attribute[] }) {
    this.attributes = attributes;
    this.shape = attributes.map((attribute) => attribute.size);
    this.size = this.shape.reduce((product, size) => product * size, 1n);
    const holdsStrings = attributes.some(({ kind }) => kind === "text" || kind === "prefix");
    if (holdsStrings) code("strings").checkStrings(attributes);
    this.text = holdsStrings ? (attributes[0] as Text) : null;
    checkDistinct(attributes.map((attribute) => attribute.name), "attribute names");
    if (this.size < 2n) throw new InvalidValue("a domain of one member has nothing to tell");
    const entries = attributes.reduce((sum, attribute) => sum + attribute.entries, 0);
    if (entries > MAX_MEMBERS) throw new InvalidValue(`a domain lists ${entries} members, at most ${MAX_MEMBERS}`);
  }

  /** Whether the domain is a text and its prefixes. */
  get holdsStrings(): boolean {
    return this.text !== null;
  }

  /** The index of the value's member in each attribute; every value has one unless `strict`. */
  codes(value: unknown, strict = false): bigint[] {
    if (strict) this.checkShape(value);
    const parts = this.parts(value);
    const text = this.text;
    if (text === null) return this.attributes.map((attribute, at) => attribute.encode(parts[at], strict));
    return text.codes(parts[0], this.attributes.slice(1), strict);
  }

  /** The number of a value's cell, the last attribute varying fastest; throws where cells have no numbers. */
  encode(value: unknown, strict = false): bigint {
    if (this.size > MAX_CELLS) throw new InvalidValue("only the cells of a domain of at most 2^62 are numbered");
    return this.codes(value, strict).reduce((cell, code, at) => cell * this.shape[at]! + code, 0n);
  }

  /** What a person reads for the members of these indices. */
  describe(codes: readonly bigint[]): string {
    return this.attributes.map((attribute, at) => attribute.label(codes[at]!)).join(" · ");
  }

  /** Throws unless a value comes in a shape that `codes` reads; the error quotes nothing of the value. */
  checkShape(value: unknown): void {
    const keys = new Set(this.attributes.map((attribute) => (this.text ?? attribute).key));
    if (isByName(value)) {
      if (Object.keys(value).some((name) => !keys.has(name))) {
        throw new InvalidValue(`the value names an attribute that the domain does not have; it has ${[...keys]}`);
      }
    } else if (!this.takesOneValue && value !== null && value !== undefined && !this.isInOrder(value)) {
      throw new InvalidValue(`give an object by name, or an array with one value for each of ${[...keys]}`);
    }
  }

  private get takesOneValue(): boolean {
    return this.attributes.length === 1 || this.text !== null;
  }

  private parts(value: unknown): readonly unknown[] {
    if (isByName(value)) return this.attributes.map((attribute) => ownValue(value, (this.text ?? attribute).key));
    if (this.takesOneValue) return this.attributes.map(() => value);
    return this.isInOrder(value) ? value : this.attributes.map(() => null);
  }

  private isInOrder(value: unknown): value is readonly unknown[] {
    return Array.isArray(value) && value.length === this.attributes.length;
  }
}

/** Whether a value is a plain object, whose own properties are values by name. */
function isByName(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value) as unknown;
  return prototype === Object.prototype || prototype === null;
}

function ownValue(value: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : null;
}

// A new kind of attribute is a line here.
export const attribute = union({
  categorical,
  ordinal: later("attributes", ({ ordinal }) => ordinal),
  integers: later("attributes", ({ integers }) => integers),
  hashed: later("attributes", ({ hashed }) => hashed),
  indicator: later("attributes", ({ indicator }) => indicator),
  number: later("attributes", ({ number }) => number),
  text: later("strings", ({ text }) => text),
  prefix: later("strings", ({ prefix }) => prefix),
}) as unknown as Schema<Attribute>;

export const domain: Schema<Domain> = built(
  record({ attributes: array(attribute, 1, MAX_ATTRIBUTES) }),
  (fields) => new Domain(fields),
  (value) => value,
);
