"""Who adds up the parts of an archive: this process or several of this machine; `spark.py` has a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from sordino_analysis.archive.errors import ArchiveError
from sordino_analysis.archive.manifest import ArchivedPart
from sordino_analysis.archive.parts import sums_of_part
from sordino_analysis.archive.process_pool import ProcessDied, imap_unordered
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_shared.randomizers import AnyRandomizer


@dataclass(frozen=True)
class PartSums:
    """`sums_of_part` of the archive at `url`, as engines send it to other processes and machines."""

    randomizer: AnyRandomizer
    device: str
    url: str

    def __call__(self, part: ArchivedPart) -> Aggregate:
        return sums_of_part(self.randomizer, self.device, self.url, part)

    @property
    def empty(self) -> Aggregate:
        """The sums of no part."""
        return Aggregate.empty(self.randomizer)


# From the work and the parts to aggregates that add up to the sums of all parts, in any order.
Engine = Callable[[PartSums, Sequence[ArchivedPart]], Iterable[Aggregate]]


def one_process(sums_of: PartSums, parts: Sequence[ArchivedPart]) -> Iterator[Aggregate]:
    """Part after part in this process."""
    yield from map(sums_of, parts)


@dataclass(frozen=True)
class ProcessEngine:
    """That many processes of this machine; raises ArchiveError where one of them is killed."""

    processes: int

    def __call__(self, sums_of: PartSums, parts: Sequence[ArchivedPart]) -> Iterator[Aggregate]:
        processes = min(self.processes, len(parts))
        if processes <= 1:
            yield from one_process(sums_of, parts)
            return
        try:
            yield from imap_unordered(sums_of, parts, processes)
        except ProcessDied as error:
            raise ArchiveError(
                "a process that added up parts was killed, most likely for want of memory: run it again with fewer "
                "--processes"
            ) from error
