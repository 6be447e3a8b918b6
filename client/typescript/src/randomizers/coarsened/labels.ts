/** Labels of cells: a random linear map over F₂, a random multiple in GF(2^r), or the cell's residue. */

import { array, built, record, union, whole, word } from "../../documents/schema.ts";
import { InvalidValue } from "../../errors.ts";
import { drawBits, type Randomness } from "../random.ts";
import { bitCount, cellCodes, cellNumber, indexBits, product } from "../randomizer.ts";
import { multiply } from "./field.ts";

const MAX_LABELS = 1n << 16n;
type Numbers = readonly bigint[];

/** One label of each cell; `words` are drawn for each report and public. */
export interface Label {
  readonly kind: string;
  /** How many labels of each coordinate there are, of residues alone. */
  readonly moduli?: Numbers;
  /** How many labels there are. */
  readonly count: bigint;
  /** Throws unless cells of this shape have such labels. */
  check(shape: Numbers): void;
  /** Bits of each public word. */
  wordBits(shape: Numbers): readonly number[];
  label(coordinates: Numbers, shape: Numbers, words: Numbers): bigint;
  /** t ⊖ z. */
  minus(label: bigint, shift: bigint): bigint;
}

/** The public words of a label. */
export function drawnWords(label: Label, shape: Numbers, random: Randomness): bigint[] {
  return label.wordBits(shape).map((bits) => drawBits(random, bits));
}

function cellBits(shape: Numbers): number {
  return Math.max(1, indexBits(product(shape)));
}

class LinearLabel implements Label {
  readonly kind = "linear";
  readonly labelBits: number;

  constructor({ labelBits }: { labelBits: number }) {
    this.labelBits = labelBits;
  }

  get count(): bigint {
    return 1n << BigInt(this.labelBits);
  }

  check(): void {}

  wordBits(shape: Numbers): readonly number[] {
    return new Array<number>(this.labelBits).fill(cellBits(shape));
  }

  label(coordinates: Numbers, shape: Numbers, words: Numbers): bigint {
    const cell = cellNumber(coordinates, shape);
    return words.reduce((label, row, bit) => label | (BigInt(bitCount(row & cell) & 1) << BigInt(bit)), 0n);
  }

  minus(label: bigint, shift: bigint): bigint {
    return label ^ shift;
  }
}

class FieldLabel implements Label {
  readonly kind = "field";
  readonly labelBits: number;

  constructor({ labelBits }: { labelBits: number }) {
    this.labelBits = labelBits;
  }

  get count(): bigint {
    return 1n << BigInt(this.labelBits);
  }

  check(shape: Numbers): void {
    if (cellBits(shape) < this.labelBits) throw new InvalidValue("a label has more bits than a cell");
  }

  wordBits(shape: Numbers): readonly number[] {
    return [cellBits(shape)];
  }

  label(coordinates: Numbers, shape: Numbers, words: Numbers): bigint {
    const degree = cellBits(shape);
    return multiply(words[0]!, cellNumber(coordinates, shape), degree) >> BigInt(degree - this.labelBits);
  }

  minus(label: bigint, shift: bigint): bigint {
    return label ^ shift;
  }
}

class ResidueLabel implements Label {
  readonly kind = "residue";
  readonly moduli: Numbers;
  readonly count: bigint;

  constructor({ moduli }: { moduli: Numbers }) {
    this.moduli = moduli;
    this.count = product(moduli);
    if (this.count < 2n || this.count > MAX_LABELS) throw new InvalidValue(`there are 2 to ${MAX_LABELS} labels`);
  }

  check(shape: Numbers): void {
    if (this.moduli.length !== shape.length) throw new InvalidValue("there is a modulus for each coordinate");
  }

  wordBits(): readonly number[] {
    return [];
  }

  label(coordinates: Numbers): bigint {
    return cellNumber(coordinates.map((each, at) => each % this.moduli[at]!), this.moduli);
  }

  minus(label: bigint, shift: bigint): bigint {
    const [first, second] = [cellCodes(label, this.moduli), cellCodes(shift, this.moduli)];
    return cellNumber(this.moduli.map((size, at) => (first[at]! - second[at]! + size) % size), this.moduli);
  }
}

const labelBits = whole(1, 16);

export const label = union({
  linear: built(record({ labelBits }), (fields) => new LinearLabel(fields), (value) => value),
  field: built(record({ labelBits }), (fields) => new FieldLabel(fields), (value) => value),
  residue: built(
    record({ moduli: array(word(1n, MAX_LABELS), 1, 255) }),
    (fields) => new ResidueLabel(fields),
    (value) => value,
  ),
});
