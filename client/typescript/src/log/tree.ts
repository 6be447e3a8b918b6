/** The Merkle tree of a public log: hashes, paths to the root, proofs of consistency (RFC 6962, RFC 9162). */

import { sameBytes } from "../bytes.ts";
import { digestOf } from "../documents/document.ts";

type Hash = Uint8Array;
/** A tree by its size and root. */
export type Tree = readonly [bigint, Hash];

/** SHA-256(0 ‖ entry). */
export function leafHash(entry: Uint8Array): Hash {
  return digestOf(Uint8Array.of(0), entry);
}

function nodeHash(left: Hash, right: Hash): Hash {
  return digestOf(Uint8Array.of(1), left, right);
}

/** The root that a path leads to from leaf `index` of `size`; null for a path of another length (section 2.1.3.2). */
export function rootOfPath(index: bigint, size: bigint, leaf: Hash, path: readonly Hash[]): Hash | null {
  if (index >= size) return null;
  let found = leaf;
  const rest = climb(index, size - 1n, path, (sibling, isLeft) => {
    found = isLeft ? nodeHash(sibling, found) : nodeHash(found, sibling);
  });
  return rest === 0n ? found : null;
}

/** Whether a tree is the beginning of a later one (section 2.1.4.2). */
export function isConsistent([size, root]: Tree, [laterSize, laterRoot]: Tree, path: readonly Hash[]): boolean {
  if (size > laterSize || size === 0n) return false;
  if (size === laterSize) return sameBytes(root, laterRoot) && !path.length;
  const [first, ...hashes] = size & (size - 1n) ? path : [root, ...path];
  if (!first) return false;
  let [place, last] = [size - 1n, laterSize - 1n];
  while (place & 1n) [place, last] = [place >> 1n, last >> 1n];
  let [old, later] = [first, first];
  const rest = climb(place, last, hashes, (sibling, isLeft) => {
    if (isLeft) [old, later] = [nodeHash(sibling, old), nodeHash(sibling, later)];
    else later = nodeHash(later, sibling);
  });
  return rest === 0n && sameBytes(old, root) && sameBytes(later, laterRoot);
}

/** Goes up from a place, a sibling a step; what is left of `last` at the end, null where the path is too long. */
function climb(
  place: bigint,
  last: bigint,
  path: readonly Hash[],
  step: (sibling: Hash, isLeft: boolean) => void,
): bigint | null {
  for (const sibling of path) {
    if (last === 0n) return null;
    const isLeft = Boolean(place & 1n) || place === last;
    step(sibling, isLeft);
    if (isLeft) while (!(place & 1n) && place) [place, last] = [place >> 1n, last >> 1n];
    [place, last] = [place >> 1n, last >> 1n];
  }
  return last;
}
