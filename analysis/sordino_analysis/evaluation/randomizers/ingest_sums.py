"""Which sums a server keeps while reports arrive; a module of its own, which imports no mathematics."""

from typing import Literal

IngestSums = Literal["cheap", "all"]
