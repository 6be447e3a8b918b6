"""Archives of given and of random payloads, written without a database."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sordino_analysis.archive.archive import Archive, device_part_name
from sordino_analysis.archive.folder import Folder
from sordino_analysis.archive.manifest import ArchiveManifest, part_name
from sordino_analysis.archive.parts import archived_part, part_content
from sordino_analysis.vectorized.arrays import array_of
from sordino_shared.domains import Categorical, Domain
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import AnyRandomizer, RandomizedResponse, SeededDirection

DIMENSION = 64
ONE = PureEpsilon(10**9)


def direction() -> SeededDirection:
    """Random directions in 64 dimensions: 17 bytes a report."""
    weights = np.full(2, SeededDirection.largest_keep_weight(ONE), dtype=np.uint64)
    vectors = array_of(np.eye(2, DIMENSION, dtype=np.int32), "<i4")
    return SeededDirection(60, vectors, array_of(weights, "<u8"))


def response() -> RandomizedResponse:
    """One of 64 values: a byte a report."""
    return RandomizedResponse.for_guarantee(64, ONE)


def random_payloads(randomizer: AnyRandomizer, reports: int, draw: np.random.Generator) -> np.ndarray:
    """(reports, width) payloads that a device could send."""
    payloads = draw.integers(0, 256, (reports, randomizer.payload_bytes), dtype=np.uint8)
    if isinstance(randomizer, SeededDirection):
        payloads[:, -1] &= 1
        return payloads
    return payloads % randomizer.size


def random_archive(folder: str, randomizer: AnyRandomizer, parts: int, in_part: int) -> Archive:
    """An archive of that many parts of `in_part` reports each."""
    draw = np.random.default_rng(0)
    return archive_of(folder, randomizer, (random_payloads(randomizer, in_part, draw) for _ in range(parts)))


def archive_of(folder: str, randomizer: AnyRandomizer, parts: Iterable[np.ndarray]) -> Archive:
    """An archive whose parts have these (n, width) payloads."""
    domain = Domain((Categorical("value", tuple(map(str, range(randomizer.size)))),))
    device = DevicePart(domain, ONE, randomizer)
    digest, place = str(device.digest), Folder.open(folder)
    place.write(device_part_name(digest), device.content)
    listed = []
    for number, payloads in enumerate(parts):
        content = part_content(payloads, digest)
        place.write(part_name(number), content)
        listed.append(archived_part(part_name(number), len(payloads), content))
    manifest = ArchiveManifest(
        campaign="ab" * 32,
        round=0,
        device=digest,
        analyst=digest,
        width=randomizer.payload_bytes,
        parts=tuple(listed),
    )
    place.write(manifest.name, manifest.content)
    return Archive.open(folder)
