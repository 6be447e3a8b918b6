/** Rows over a few attributes, carried to all others by symmetry: row, attributes, and the shift of the value. */

import { littleEndian, toLittleEndian } from "../bytes.ts";
import { type WireArray, wireArray } from "../documents/array.ts";
import { array, built, nullable, record, truth, whole, word } from "../documents/schema.ts";
import { InvalidValue } from "../errors.ts";
import type { Ratio } from "./epsilon.ts";
import { arranged, checkSlots } from "./placements.ts";
import { drawBelow, drawBits, place, type Randomness } from "./random.ts";
import { bitCount, bits, cellCodes, cellNumber, checkWithin, product, type Randomizer } from "./randomizer.ts";

const MAX_ATTRIBUTES = 255;
const MAX_ROW_CELLS = 4096n;
const MAX_SUMS = 1n << 22n;
const UNUSED = 255;

/** A set of cells over slots of the sizes `shape`. */
class BaseRow {
  readonly shape: readonly bigint[];
  readonly members: WireArray;
  readonly cells: bigint;
  readonly inside: bigint;
  /** The members as the bits of a number. */
  readonly set: bigint;

  constructor({ shape, members }: { shape: readonly bigint[]; members: WireArray }) {
    this.shape = shape;
    this.members = members;
    this.cells = product(shape);
    checkWithin(this.cells, 2n, MAX_ROW_CELLS, "number of cells of a row");
    members.checkForm("|u1", [Number((this.cells + 7n) / 8n)], "members of a row");
    this.set = littleEndian(members.data);
    this.inside = BigInt(bitCount(this.set));
    if (this.set >> this.cells) throw new InvalidValue("bits past the last cell must be zero");
    if (!this.inside || this.inside === this.cells) throw new InvalidValue("a row holds some cells and leaves some out");
  }

  /** The cells in the set, and those outside. */
  sides(): readonly [bigint[], bigint[]] {
    const sides: [bigint[], bigint[]] = [[], []];
    for (let cell = 0n; cell < this.cells; cell++) sides[(this.set >> cell) & 1n ? 0 : 1].push(cell);
    return sides;
  }
}

interface Fields {
  shape: readonly bigint[];
  width: number;
  overlaps: boolean;
  bits: number;
  low: bigint;
  high: bigint;
  rowWeights: readonly bigint[];
  rows: readonly BaseRow[];
  pinned: number | null;
}

/** Row b with chance rowWeights[b]/2^bits, a uniform arrangement A, a shift t with the weight of x_A − t in b. */
export class OrbitKernel implements Randomizer {
  readonly kind = "orbit_kernel";
  readonly shape!: readonly bigint[];
  readonly width!: number;
  readonly overlaps!: boolean;
  readonly bits!: number;
  readonly low!: bigint;
  readonly high!: bigint;
  readonly rowWeights!: readonly bigint[];
  readonly rows!: readonly BaseRow[];
  readonly pinned!: number | null;

  constructor(fields: Fields) {
    Object.assign(this, fields);
    const whole = 1n << BigInt(this.bits);
    if (product(this.shape) < 2n) throw new InvalidValue("a kernel needs at least two types");
    checkWithin(BigInt(this.width), 1n, BigInt(this.shape.length), "width of the characters");
    if (this.pinned !== null && this.pinned >= this.shape.length) throw new InvalidValue("no attribute is pinned there");
    checkWithin(this.low, 1n, whole, "low level");
    checkWithin(this.high, this.low, whole, "high level");
    if (this.sums() > MAX_SUMS) throw new InvalidValue("there are too many sums of characters");
    const total = this.rowWeights.reduce((sum, weight) => sum + weight, 0n);
    if (this.rowWeights.length !== this.rows.length || total !== whole) {
      throw new InvalidValue("every row needs a weight, and the weights must sum to 2^bits");
    }
    this.rows.forEach((row) => this.checkRow(row));
  }

  get payloadBytes(): number {
    return 3 + this.slots;
  }

  likelihoodRatio(): Ratio {
    return [this.high, this.low];
  }

  checkDomain(shape: readonly bigint[]): void {
    if (this.shape.join() !== shape.join()) throw new InvalidValue("the kernel's attributes are not the domain's");
  }

  randomize(codes: readonly bigint[], _shape: readonly bigint[], random: Randomness, coin = random): Uint8Array {
    const number = place(this.rowWeights, drawBits(coin, this.bits));
    const row = this.rows[number]!;
    const pinned = this.pinned === null ? [] : [this.pinned];
    const chosen = [...pinned, ...arranged(this.freeSlots(row), this.freeSizes, "ascending", coin)];
    const shift = this.shift(row, chosen.map((attribute) => codes[attribute]!), random);
    const payload = new Uint8Array(this.payloadBytes).fill(UNUSED);
    payload.set([number, ...chosen]);
    payload.set(toLittleEndian(shift, 2), 1 + this.slots);
    return payload;
  }

  /** The number of codes − z, slot by slot modulo the sizes, for a cell z drawn by the row's weights. */
  private shift(row: BaseRow, codes: readonly bigint[], random: Randomness): bigint {
    const [members, others] = row.sides();
    const beyond = row.inside * this.high;
    const draw = drawBelow(random, this.mass(row));
    const drawn = draw < beyond ? members[Number(draw / this.high)]! : others[Number((draw - beyond) / this.low)]!;
    const cell = cellCodes(drawn, row.shape);
    const moved = row.shape.map((size, slot) => (codes[slot]! - cell[slot]! + size) % size);
    return cellNumber(moved, row.shape);
  }

  private mass(row: BaseRow): bigint {
    return row.inside * this.high + (row.cells - row.inside) * this.low;
  }

  private get slots(): number {
    return Math.max(...this.rows.map((row) => row.shape.length));
  }

  /** Sizes of the attributes, 0 for the pinned one, which no other slot takes. */
  private get freeSizes(): bigint[] {
    return this.shape.map((size, at) => (at === this.pinned ? 0n : size));
  }

  private freeSlots(row: BaseRow): readonly bigint[] {
    return this.pinned === null ? row.shape : row.shape.slice(1);
  }

  private checkRow(row: BaseRow): void {
    checkSlots(this.freeSlots(row), this.freeSizes);
    if (this.pinned !== null && row.shape[0] !== this.shape[this.pinned]) {
      throw new InvalidValue("the first slot of a row has the size of the pinned attribute");
    }
    if (this.mass(row) > 1n << 62n) throw new InvalidValue("the weights of a row's cells sum to more than 2^62");
  }

  /** The sums that a server keeps: for each row, characters of up to `width` attributes. */
  private sums(): bigint {
    const sums = [1n, ...new Array<bigint>(this.width).fill(0n)];
    for (const size of this.shape) {
      const characters = this.overlaps && size > 1n ? size : size - 1n;
      for (let involved = this.width; involved; involved--) sums[involved]! += sums[involved - 1]! * characters;
    }
    return BigInt(this.rows.length) * sums.reduce((all, each) => all + each, 0n);
  }
}

const row = built(
  record({ shape: array(word(2n, MAX_ROW_CELLS), 1, MAX_ATTRIBUTES), members: wireArray }),
  (fields) => new BaseRow(fields),
  (value) => value,
);
const weight = word(1n, 1n << 62n);

export const orbitKernel = built(
  record({
    shape: array(word(1n, 1n << 20n), 1, MAX_ATTRIBUTES),
    width: whole(1, MAX_ATTRIBUTES),
    overlaps: truth,
    bits,
    low: weight,
    high: weight,
    rowWeights: array(weight),
    rows: array(row, 1, 256),
    pinned: nullable(whole(0, MAX_ATTRIBUTES - 1)),
  }),
  (fields) => new OrbitKernel(fields),
  (value) => value,
);
