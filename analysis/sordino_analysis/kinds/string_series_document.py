"""The periods of a series of strings as one document, from their stored estimates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.string_queries import StringQueries
from sordino_analysis.figures import SHARE
from sordino_analysis.kinds.series import SeriesStates, iso_moment
from sordino_analysis.kinds.string_series import NEW, StringSeriesExtras
from sordino_analysis.kinds.strings import WATCHED_ONLY, StringExtras, certified_rows
from sordino_shared.protocol import DevicePart

_COPIED = ("kind", "label", "unit", "value", "uncut", "standard_error", "band_lower", "band_upper")


def string_series_document(
    estimates: Mapping[int, EstimateDocument],
    terms: SeriesStates,
    *,
    device: DevicePart,
    analyst: AnalystPart,
    slots: int,
) -> EstimateDocument:
    """The lists of the estimated periods, and the changes between them."""
    queries = analyst.queries
    assert isinstance(queries, StringQueries), "of a plan for strings"
    ordered = sorted(estimates.items())
    extras = StringSeriesExtras(
        workload=analyst.workload,
        slots=slots,
        period_s=terms.period_s,
        value_of="previous" if terms.of_previous else "current",
        error=queries.error,
        periods=[terms.listed(number, slots, known=number in estimates) for number in terms.states],
        warnings=(
            *terms.warnings,
            *(f"period {number}: {each}" for number, found in ordered for each in found.extras.warnings),
            *_out_of_order(ordered),
        ),
    )
    rows = [row for number, found in ordered for row in (*_listed(number, found), *_changes(number, found))]
    for row in rows:
        row["period_start"] = iso_moment(terms.begins(int(row["period"] or 0)))
    names = dict.fromkeys(["part", *(name for row in rows for name in row)])
    columns: dict[str, list[Cell]] = {name: [row.get(name) for row in rows] for name in names}
    return EstimateDocument.of_columns(
        "string_series",
        columns,
        extras,
        campaign_id=terms.campaign,
        epsilon=device.guarantee.epsilon,
        level=1 - queries.error,
        bias_bound=analyst.figures.bias_bound,
        validity="worst_case",
        mechanism=analyst.mechanism,
        plan_device=str(device.digest),
        plan_analyst=str(analyst.digest),
    )


def _out_of_order(ordered: Sequence[tuple[int, EstimateDocument]]) -> Iterator[str]:
    """Which periods were estimated before an earlier one, whose list they do not know: their estimates stay."""
    for number, found in ordered:
        since = _extras(found).since
        for late in (other for other, _ in ordered if since is not None and since < other < number):
            yield (
                f"period {number} was estimated before period {late}, which had failed: its list, and what is new in "
                f"it, follow period {since}"
            )


def _listed(number: int, estimate: EstimateDocument) -> Iterator[dict[str, Cell]]:
    """A row for each listed string of a period, with since when it is listed."""
    extras = _extras(estimate)
    rising = {(each.kind, each.label) for each in extras.changes if each.verdict == "higher"}
    first = {(each.kind, each.label): each.first for each in extras.listed}
    for row, certified in zip(estimate.answers(), certified_rows(estimate.table), strict=True):
        named = (str(row["kind"]), str(row["label"]))
        since = _since(first.get(named, number), number, rising=named in rising)
        yield {
            "part": "period",
            "period": number,
            **{name: row[name] for name in _COPIED if name in row},
            "sentence": since if certified else WATCHED_ONLY,
            "users": estimate.users,
            "target": f"devices active in period {number}",
        }


def _since(first: int, number: int, *, rising: bool) -> str:
    if first == number:
        return NEW if rising else "first listed"
    return f"since period {first}{', more than before' if rising else ''}"


def _changes(number: int, estimate: EstimateDocument) -> Iterator[dict[str, Cell]]:
    """A row for each change since the estimated period before."""
    extras = _extras(estimate)
    for each in extras.changes:
        yield {
            "part": "change",
            "period": number,
            "left": f"period {extras.since}",
            "right": f"period {number}",
            "kind": each.kind,
            "label": each.label,
            "unit": SHARE,
            "value": each.later - each.earlier,
            "left_value": each.earlier,
            "right_value": each.later,
            "standard_error": each.standard_error,
            "band_lower": each.lower,
            "band_upper": each.upper,
            "verdict": each.verdict,
        }


def _extras(estimate: EstimateDocument) -> StringExtras:
    assert isinstance(estimate.extras, StringExtras), "as every period of strings"
    return estimate.extras
