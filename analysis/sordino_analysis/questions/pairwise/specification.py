"""The written form of a pairwise statistic, in YAML or JSON, and how it becomes a PairwiseStatistic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic import Field, ValidationError

from sordino_analysis.questions.linear import WorkloadError
from sordino_analysis.questions.linear.attributes import (
    CategoricalSpecification,
    EvenBins,
    ListedAttributeSpecification,
    OrdinalSpecification,
    Strict,
    domain_of,
    readable,
)
from sordino_analysis.questions.linear.specification import check_scale
from sordino_analysis.questions.pairwise.binning import OpenBins
from sordino_analysis.questions.pairwise.kinds import OfValues, StatisticKind, is_open
from sordino_analysis.questions.pairwise.named import Subject
from sordino_analysis.questions.pairwise.pairwise_statistic import PairwiseStatistic
from sordino_analysis.strict_model import Listed
from sordino_shared.errors import InvalidValue

# 128 MiB of doubles for all tables of a statistic: a search for its kernel works on several of this size at once.
MAX_ENTRIES = 2**24


class PairwiseSpecification(Strict):
    """A name, a domain and the statistic that is asked of pairs of its users."""

    name: str = Field(min_length=1, max_length=200)
    domain: Listed[ListedAttributeSpecification]
    statistic: StatisticKind

    def canonical(self) -> dict[str, Any]:
        """The JSON-able form that is stored with a plan and read back by `parse_statistic`."""
        return self.model_dump(mode="json", exclude_none=True)

    def build(self) -> PairwiseStatistic:
        """The statistic described; raises WorkloadError where the description contradicts itself or bins are open."""
        if self.open_bins() is not None:
            raise WorkloadError("the number of bins is open: choose it with `with_bins`", self.domain)
        domain = domain_of(self.domain)
        most = math.isqrt(MAX_ENTRIES // self.statistic.forms)
        if domain.size > most:
            raise WorkloadError(
                f"domain: {domain.size} cells, and this statistic is held as dense tables of at most {most}: "
                "use fewer bins or attributes",
                domain.size,
            )
        statistic = self.statistic.statistic(Subject(self.name, domain, self.canonical()), self.domain)
        _check_forms(statistic)
        return statistic

    def check(self) -> None:
        """Raise WorkloadError where `build` would, whatever number of bins is chosen where that is open."""
        (self if self.open_bins() is None else self.with_bins(2)).build()

    @property
    def cells(self) -> int | None:
        """k, or None while the number of bins is open."""
        return None if any(map(is_open, self.domain)) else domain_of(self.domain).size

    def sizes(self) -> tuple[int | None, int]:
        """Cells, and queries, of which a statistic is one; raises as `check`."""
        self.check()
        return self.cells, 1

    def open_bins(self) -> OpenBins | None:
        """The line whose number of bins the planner chooses, or None where every bin is given."""
        line = next((attribute for attribute in self.domain if is_open(attribute)), None)
        return None if line is None else self._bounded(line)

    def with_bins(self, bins: int) -> PairwiseSpecification:
        """The same question with this many bins where their number is open."""
        document = self.canonical()
        for attribute, line in zip(document["domain"], self.domain, strict=True):
            if is_open(line):
                attribute["edges"]["bins"] = bins
        return parse_statistic(document)

    def _bounded(self, line: OrdinalSpecification | CategoricalSpecification) -> OpenBins:
        assert isinstance(line, OrdinalSpecification)
        assert isinstance(line.edges, EvenBins)
        measured, low, high = self.statistic, line.edges.low, line.edges.high
        smoothness = None
        if isinstance(measured, OfValues) and measured.values is None and measured.line(self.domain) is line:
            smoothness = measured.smoothness(low, high)
        if smoothness is None or not isinstance(measured, OfValues):
            raise WorkloadError(
                f"domain: bins: {line.edges.bins} for {line.name!r} needs a bound on how fast the kernel changes along "
                "it, which gini_mean_difference, variance and a lipschitz function have: give the number of bins",
                line.name,
            )
        try:
            return OpenBins(low, high, smoothness, measured.kernel if line.edges.bins == "auto_smooth" else None)
        except InvalidValue as error:
            raise WorkloadError(f"domain: {error}", line.name) from error


def parse_statistic(document: Mapping[str, Any]) -> PairwiseSpecification:
    """Read the dictionary form strictly; raises WorkloadError with the place of everything that does not fit."""
    written = document.get("statistic") if isinstance(document, Mapping) else None
    if isinstance(written, Mapping) and "file" in written:
        raise WorkloadError("statistic.file needs a workload on disk: put the matrix here", written)
    try:
        return PairwiseSpecification.model_validate(document)
    except ValidationError as error:
        raise WorkloadError(readable(error), document) from error


def _check_forms(statistic: PairwiseStatistic) -> None:
    for form in statistic.forms:
        if np.all(form.matrix == form.matrix[0, 0]):
            raise WorkloadError(
                f"statistic: {form.name!r} is the same for every pair, whatever the users hold: "
                "ask one that depends on them, of attributes of two bins or labels at least",
                form.name,
            )
        check_scale(form.matrix)
