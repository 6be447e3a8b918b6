"""What a device sends for each type of user, as colours: the kernel of a randomizer with few reports."""

from __future__ import annotations

import math

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.charts.heat_maps import HeatMap, draw_heat_maps
from sordino_analysis.vectorized.kernels import kernel_integers
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import FiniteKernel

# Entries that are listed one by one as fractions: 2 µs each.
_MOST_LISTED = 1 << 16
_MOST_ENTRIES = 1 << 22


def draw_kernel(title: str, subtitle: str, part: DevicePart) -> str:
    """The text of an SVG file: ln(K(y|x) / min over x of K(y|x)), 0 to ε, of report y upwards and type x to the right.

    Reports are in the order of the types that they speak for. Raises InvalidValue for a randomizer with too many
    reports to list, and for those whose reports begin with a seed.
    """
    table = kernel_table(part)
    ratios = np.log(table / table.min(axis=1, keepdims=True))
    weights = ratios + 1e-9
    order = np.argsort(weights @ np.arange(table.shape[1]) / weights.sum(axis=1), kind="stable")
    drawn = HeatMap(
        title="log of the chance of a report over its chance from its least likely type",
        rows=[f"{number + 1:,}" for number in range(len(table))],
        columns=[part.domain.label(cell) for cell in range(table.shape[1])],
        row_axis=f"report, of {len(table):,}",
        column_axis=", ".join(attribute.name for attribute in part.domain.attributes),
        cells=ratios[order],
    )
    return draw_heat_maps(title, subtitle, [drawn])


def is_drawable(part: DevicePart) -> bool:
    """Whether `draw_kernel` draws its randomizer."""
    if isinstance(part.randomizer, FiniteKernel):
        return math.prod(part.randomizer.rows.shape) <= _MOST_ENTRIES
    # Here, since a server that draws no kernel needs no laws.
    from sordino_analysis.conformance.enumeration import payload_count

    count = payload_count(part.randomizer)
    return count is not None and count * part.domain.size <= _MOST_LISTED


def kernel_table(part: DevicePart) -> Floats:
    """K (m, k): the chance of each of m reports from each of k types; raises InvalidValue where m is too large."""
    if not is_drawable(part):
        raise InvalidValue("this randomizer has too many reports to draw its kernel", part.randomizer)
    if isinstance(part.randomizer, FiniteKernel):
        return np.asarray(kernel_integers(part.randomizer.rows) / float(1 << part.randomizer.bits))
    from sordino_analysis.conformance.part_counts import part_law

    laws = [part_law(part, cell) for cell in range(part.domain.size)]
    payloads = sorted(set().union(*laws))
    table = np.array([[float(law.get(payload, 0)) for law in laws] for payload in payloads])
    return np.asarray(table[table.min(axis=1) > 0])
