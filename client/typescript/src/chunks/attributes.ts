/** Every kind of attribute but `categorical` and those of strings. */

export { hashed } from "../domains/hashed.ts";
export { indicator } from "../domains/indicator.ts";
export { integers } from "../domains/integers.ts";
export { number } from "../domains/number.ts";
export { ordinal } from "../domains/ordinal.ts";
