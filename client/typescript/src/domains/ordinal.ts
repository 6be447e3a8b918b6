/** Bins of a line: bin j holds edges[j−1] < value ≤ edges[j]; the first and the last bin are unbounded. */

import { type Plain } from "../documents/cbor.ts";
import { array, built, flag, float, record, type Schema, text, whole } from "../documents/schema.ts";
import { checkLength, checkName } from "../documents/text.ts";
import { InvalidValue } from "../errors.ts";
import { type Attribute, checkListable, trailingCount, trailingLabel, unlisted } from "./members.ts";
import { exact, exactNumber, general, nearestDouble, shortest, writtenNumber } from "./numbers.ts";

const MAX_EVEN_EDGES = 2 ** 48;

/** A list of edges, or edges that need no list. */
export interface Edges {
  readonly count: number;
  /** How many labels or edges a document holds for them; null: as many as the attribute has members. */
  readonly entries: number | null;
  at(index: number): number;
  /** How many edges are less than a number. */
  below(number: number | bigint): number;
}

class ListedEdges implements Edges {
  readonly edges: readonly number[];
  readonly entries = null;

  constructor(edges: readonly number[]) {
    this.edges = edges;
    if (edges.some((edge, at) => at && edges[at - 1]! >= edge)) {
      throw new InvalidValue("edges must be strictly increasing");
    }
  }

  get count(): number {
    return this.edges.length;
  }

  at(index: number): number {
    return this.edges[index]!;
  }

  below(number: number | bigint): number {
    let low = 0;
    let high = this.edges.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.edges[middle]! < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The edges start + i·step for i below count: exact rationals of the two doubles. */
export class EvenEdges implements Edges {
  readonly start: number;
  readonly step: number;
  readonly count: number;
  readonly entries = 1;

  constructor({ start, step, count }: { start: number; step: number; count: number }) {
    this.start = start;
    this.step = step;
    this.count = count;
    if (step <= 0) throw new InvalidValue("the step between edges must be above 0");
    if (count > 1 && !(this.at(0) < this.at(1) && this.at(count - 2) < this.at(count - 1))) {
      throw new InvalidValue("the edges are not distinct doubles: use a larger step");
    }
  }

  at(index: number): number {
    const [start, step, shift] = aligned(this.start, this.step);
    return nearestDouble(start + BigInt(index) * step, shift);
  }

  below(number: number | bigint): number {
    if (number === Infinity || number === -Infinity) return number > 0 ? this.count : 0;
    const shift = Math.max(...[number, this.start, this.step].map((each) => exact(Number(each)).shift));
    const [value, start, step] = [number, this.start, this.step].map((each) => atShift(each, shift)) as Triple;
    const steps = -floorDivided(start - value, step);
    return steps < 0n ? 0 : steps > BigInt(this.count) ? this.count : Number(steps);
  }
}

type Triple = [bigint, bigint, bigint];

function atShift(number: number | bigint, shift: number): bigint {
  if (typeof number === "bigint") return number << BigInt(shift);
  const found = exact(number);
  return found.numerator << BigInt(shift - found.shift);
}

function aligned(first: number, second: number): [bigint, bigint, number] {
  const shift = Math.max(exact(first).shift, exact(second).shift);
  return [atShift(first, shift), atShift(second, shift), shift];
}

function floorDivided(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator;
  return numerator % denominator < 0n ? quotient - 1n : quotient;
}

export class Ordinal implements Attribute {
  readonly kind = "ordinal";
  readonly name: string;
  readonly edges: Edges;
  readonly unit: string;
  readonly missing: boolean;
  readonly other: boolean;

  constructor(fields: { name: string; edges: Edges; unit: string; missing: boolean; other: boolean }) {
    ({ name: this.name, edges: this.edges, unit: this.unit, missing: this.missing, other: this.other } = fields);
    if (this.edges.entries === null) checkListable(this.edges.count, this.name);
  }

  get key(): string {
    return this.name;
  }

  get bins(): bigint {
    return BigInt(this.edges.count) + 1n;
  }

  get listed(): bigint {
    return this.bins;
  }

  get size(): bigint {
    return this.bins + trailingCount(this.missing, this.other);
  }

  get entries(): number {
    return this.edges.entries ?? Number(this.size);
  }

  label(index: bigint): string {
    if (index >= this.bins) return trailingLabel(this, index);
    const at = Number(index);
    if (!this.edges.count) return "any";
    if (!at) return `≤ ${edgeText(this.edges.at(0))}`;
    const low = edgeText(this.edges.at(at - 1));
    return at === this.edges.count ? `> ${low}` : `(${low}, ${edgeText(this.edges.at(at))}]`;
  }

  encode(value: unknown, strict: boolean): bigint {
    const number = exactNumber(value) ?? (strict ? null : writtenNumber(value));
    if (number !== null) return BigInt(this.edges.below(number));
    return this.missing && !strict ? this.bins : unlisted(this, value, strict);
  }
}

function edgeText(edge: number): string {
  const short = general(edge, 6);
  return Number(short) === edge ? short : shortest(edge);
}

/** A unit is empty or a name. */
export const unit = text((each) => {
  checkLength(each, 0, 200, "unit");
  if (each) checkName(each, "unit");
});

const listedEdges = built(array(float), (edges) => new ListedEdges(edges), (value) => value.edges);
const evenEdges = built(
  record({ start: float, step: float, count: whole(1, MAX_EVEN_EDGES) }),
  (fields) => new EvenEdges(fields),
  (value) => value,
);
// An array stands for listed edges, a map for even ones.
const edges: Schema<Edges> = {
  read: (plain: Plain, path: string) => (Array.isArray(plain) ? listedEdges : evenEdges).read(plain, path),
  write: (value) => (value instanceof EvenEdges ? evenEdges.write(value) : listedEdges.write(value as ListedEdges)),
};

export const ordinal = built(
  record({ name: text((each) => checkName(each, "attribute name")), edges, unit, missing: flag, other: flag }),
  (fields) => new Ordinal(fields),
  (attribute) => attribute,
);
