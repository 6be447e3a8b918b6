"""Tokens by merging the most frequent pair of neighbours again and again (byte-pair encoding; Gage 1994)."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise

from sordino_shared.domains.text_code import MAX_TOKEN_BYTES, MAX_TOKENS_BYTES

Pair = tuple[bytes, bytes]
# A pair that one text alone has is no habit of the language.
_LEAST_TEXTS = 2


def merged_tokens(texts: Mapping[bytes, float], most: int) -> list[bytes]:
    """At most `most` tokens in ascending order, from texts with their weights.

    Fewer where no pair is left that two texts have, or where 48 KiB of tokens are reached. Ties go to the lesser bytes,
    so that the same texts give the same tokens.
    """
    merging, tokens, size = _Merging(texts), set[bytes](), 0
    while len(tokens) < most:
        pair = merging.heaviest()
        if pair is None:
            break
        token = pair[0] + pair[1]
        if token not in tokens:
            size += len(token)
            if size > MAX_TOKENS_BYTES:
                break
            tokens.add(token)
        merging.merge(pair)
    return sorted(tokens)


class _Merging:
    """Texts as pieces, the weight of each pair of neighbours, and which texts have it."""

    def __init__(self, texts: Mapping[bytes, float]) -> None:
        ordered = sorted(texts)
        self._weights = [texts[text] for text in ordered]
        self._pieces = [[text[place : place + 1] for place in range(len(text))] for text in ordered]
        self._pairs: dict[Pair, float] = defaultdict(float)
        self._places: dict[Pair, set[int]] = defaultdict(set)
        for number in range(len(ordered)):
            self._count(number, 1)
        self._heap = [(-weight, pair) for pair, weight in self._pairs.items()]
        heapq.heapify(self._heap)

    def heaviest(self) -> Pair | None:
        """The heaviest pair that fits into a token and occurs in two texts; None where there is none."""
        while self._heap:
            weight, pair = heapq.heappop(self._heap)
            if self._pairs.get(pair) != -weight or len(pair[0]) + len(pair[1]) > MAX_TOKEN_BYTES:
                continue
            if len(self._places[pair]) >= _LEAST_TEXTS:
                return pair
        return None

    def merge(self, pair: Pair) -> None:
        """Make one piece of the pair wherever it occurs."""
        changed = set[Pair]()
        for number in sorted(self._places[pair]):
            changed.update(pairwise(self._pieces[number]))
            self._count(number, -1)
            self._pieces[number] = _joined(self._pieces[number], pair)
            self._count(number, 1)
            changed.update(pairwise(self._pieces[number]))
        for each in changed:
            if self._pairs[each] > 0:
                heapq.heappush(self._heap, (-self._pairs[each], each))

    def _count(self, number: int, sign: int) -> None:
        weight, pieces = sign * self._weights[number], self._pieces[number]
        for pair in pairwise(pieces):
            self._pairs[pair] += weight
            if sign > 0:
                self._places[pair].add(number)
            else:
                self._places[pair].discard(number)


def _joined(pieces: list[bytes], pair: Pair) -> list[bytes]:
    first, second = pair
    joined, place, last = list[bytes](), 0, len(pieces) - 1
    while place <= last:
        if pieces[place] == first and place < last and pieces[place + 1] == second:
            joined.append(first + second)
            place += 2
        else:
            joined.append(pieces[place])
            place += 1
    return joined
