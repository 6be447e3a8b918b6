"""Coarsen, then respond: a randomizer whose reports and device part do not grow with the domain."""

from sordino_shared.randomizers.coarsened.labels import FieldLabel, Label, LinearLabel, ResidueLabel
from sordino_shared.randomizers.coarsened.level import Level, LevelFamily
from sordino_shared.randomizers.coarsened.partitions import GridPartition, Partition, SubsetPartition
from sordino_shared.randomizers.coarsened.randomizer import Coarsened

__all__ = [
    "Coarsened",
    "FieldLabel",
    "GridPartition",
    "Label",
    "Level",
    "LevelFamily",
    "LinearLabel",
    "Partition",
    "ResidueLabel",
    "SubsetPartition",
]
