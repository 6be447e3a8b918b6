"""What `sordino plan` prints: the result in a few lines, every mechanism and every error with --verbose."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch

from rich.console import Console
from rich.table import Table

from sordino_analysis.documents.plan_summary import LinearSummary, PairwiseSummary
from sordino_analysis.documents.strings_summary import StringsSummary
from sordino_analysis.documents.summary_parts import AverageCaseFigures, BlanketSummary, PredictedError, ShuffledPrivacy
from sordino_analysis.figures import amount, chosen, figure, ratio
from sordino_analysis.percentages import percent
from sordino_server.cli.output import console, print_table
from sordino_server.cli.price_of_locality import price_lines
from sordino_server.cli.statistics import fake_reports, print_protocols, shown_device_part
from sordino_shared.quantities import quantity

_SHOWN_ERRORS = 12
# For whom a plan says what it finds where nobody says how many there are.
_A_MILLION = 10**6
_LOSS_MARGINS, _LEVEL = (0.05, 0.02), 0.95


@singledispatch
def print_plan(summary: object, written: str | None, verbose: bool) -> None:
    """The result of a plan in the words of its kind; raises TypeError for a summary of an unknown kind."""
    raise TypeError(f"no text for a {type(summary).__name__}")


@print_plan.register
def _(summary: PairwiseSummary, written: str | None, verbose: bool) -> None:
    print_protocols(console, summary, verbose)
    if written is not None:
        _line(console, written)


@print_plan.register
def _(summary: StringsSummary, written: str | None, verbose: bool) -> None:
    """The share that is found, and how sure shares are; with `verbose` the levels."""
    _line(console, f"mechanism: {summary.mechanism}, strings of {summary.attribute}")
    _line(console, f"  ε = {chosen(summary.epsilon)}, {summary.report_bytes} bytes a report")
    if summary.users is None:
        _line(console, f"  {summary.quality} with 90 % (--users N says it for N)")
    else:
        _line(console, f"  with {quantity(summary.users, 'user')}, {summary.forecast(summary.users)}")
    watched = f"{quantity(summary.watched, 'string')} watched, with half of the error; " if summary.watched else ""
    _line(console, f"  {watched}shown: {summary.shown}")
    if summary.blanket is not None:
        for line in _strings_behind(summary, summary.blanket):
            _line(console, line)
    if verbose:
        levels = " + ".join(map(str, summary.widths))
        _line(console, f"levels of {levels} bits, {percent(summary.held_out)} of the devices certify and count")
        _line(console, f"variance of one report {figure(summary.report_variance)}, beam of {summary.beam:,}")
        _line(console, f"device part  {summary.digests.device}  {shown_device_part(summary)}")
        _line(console, f"analyst part {summary.digests.analyst}  {summary.analyst_bytes:,} bytes")
    if written is not None:
        _line(console, written)


@print_plan.register
def _(summary: LinearSummary, written: str | None, verbose: bool) -> None:
    """The chosen mechanism with its errors; with `verbose` also the mechanisms that were compared."""
    if verbose:
        print_table(_mechanisms(summary))
        for row in summary.candidates:
            if row.reason:
                _line(console, f"{row.name} was not taken: {row.reason}")
    for line in _result(summary):
        _line(console, line)
    for line in _details(summary) if verbose else ():
        _line(console, line)
    if written is not None:
        _line(console, written)
    if not verbose:
        _line(console, "details: --verbose, or --json for everything")


def _mechanisms(summary: LinearSummary) -> Table:
    """One row per mechanism: exact variances, bias bound, effect of a share of fake reports, seconds.

    The chosen one is marked, and what was not built has the least variance that its formula allows.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("mechanism", no_wrap=True)
    for heading in ("max variance", "mean variance", "bias ≤", "manipulation", "seconds"):
        table.add_column(heading, justify="right")
    for row in summary.candidates:
        is_taken = row.name == summary.mechanism
        numbers = [_variance(summary, row.max_variance), _variance(summary, row.mean_variance)]
        numbers += [_number(row.bias_bound), _number(row.manipulation)]
        if row.least_variance is not None:
            numbers[summary.objective == "mean"] = f"≥ {_variance(summary, row.least_variance)}"
        name = f"→ {row.name}" if is_taken else f"  {row.name}"
        table.add_row(name, *numbers, figure(row.seconds, 2), style="bold" if is_taken else "")
    bounds = [_variance(summary, bound) for bound in (summary.lower_bound_max, summary.lower_bound_mean)]
    table.add_row("  certified lower bound", *bounds, "", "", "", style="dim")
    return table


def _result(summary: LinearSummary) -> Iterator[str]:
    yield f"mechanism: {summary.mechanism}"
    yield f"  {summary.workload}, ε = {chosen(summary.epsilon)}, objective {summary.objective}"
    largest, mean = (
        f"{_variance(summary, each)}{summary.of_range}" for each in (summary.max_variance, summary.mean_variance)
    )
    yield f"  variance of one report, worst query: {largest}{_ratio(summary.ratio_max)}"
    yield from _over(summary.max_variance_over)
    yield f"  variance of one report, mean: {mean}{_ratio(summary.ratio_mean)}"
    yield from _over(summary.mean_variance_over)
    if summary.has_bias:
        yield f"  bias of an answer: at most {figure(summary.bias_bound, 3)}, by which intervals and bands are wider"
    if summary.uniform_mean_variance is not None:
        yield f"  and for users spread evenly over all types: {_number(summary.uniform_mean_variance)}"
    if summary.blanket is not None:
        yield from _blanket(summary.blanket, summary.epsilon)
    if summary.users_needed is not None and summary.target_error is not None:
        yield f"  users needed for an error of {chosen(summary.target_error)}: {summary.users_needed:,}"
    if summary.users is not None and summary.predicted_errors is not None:
        worst = max(summary.predicted_errors, key=lambda each: each.rmse)
        yield f"  predicted error of the worst query with {quantity(summary.users, 'user')}: {_error(worst)}"
    if summary.asks_rules:
        yield from _rules(summary)
    if summary.average_case is not None:
        yield from _average_case(summary.average_case)
    yield f"  {fake_reports('an answer', summary.manipulation, unit=summary.unit)}"
    yield from _drawn(summary)
    yield from (f"warning: {warning}" for warning in summary.warnings)
    if summary.price_of_locality is not None:
        yield from price_lines(summary.price_of_locality)
    if summary.cut_short:
        yield f"  cut short ({summary.cut_short}): more time may give a better mechanism and bound"


def _blanket(blanket: BlanketSummary, epsilon: float) -> Iterator[str]:
    """Who is told how much, with a shuffler in between."""
    yield (
        f"  behind a shuffler that mixes in {quantity(blanket.reports, 'random report')}: "
        f"(ε {chosen(blanket.epsilon)}, δ {chosen(blanket.delta)}) against the collector, "
        "even if all others are fake"
    )
    yield f"  ε {chosen(epsilon)} if shuffler and collector work together"


def _strings_behind(summary: StringsSummary, blanket: BlanketSummary) -> Iterator[str]:
    """The same, and the users who would find as much without a shuffler."""
    yield from _blanket(blanket, summary.epsilon)
    users = summary.users or _A_MILLION
    without = summary.users_without(users)
    if without is not None:
        share = percent(summary.share_found(users), 2)
        yield (
            f"  to find strings of {share} it takes {quantity(users, 'user')} with the shuffler, and {without:,} "
            f"without one, at ε = {chosen(blanket.epsilon)} of a device"
        )


def _shuffled(privacy: ShuffledPrivacy) -> str:
    honest = 1 - privacy.fake
    who = f"if a shuffler mixed {quantity(privacy.reports, 'report')} and {percent(honest)} were honest"
    if privacy.delta is None:
        return f"{who}: ε = {chosen(privacy.epsilon)}, as so few hide nothing more"
    return f"{who}: ε = {figure(privacy.epsilon)} at δ = {chosen(privacy.delta)}"


def _rules(summary: LinearSummary) -> Iterator[str]:
    """How many users tell the losses of all rules at once, before anybody is asked."""
    needed = ((margin, summary.users_within(margin, _LEVEL, difference=False)) for margin in _LOSS_MARGINS)
    for margin, users in needed:
        if users is not None:
            rules = f"the losses of all {summary.queries:,} rules within {chosen(margin)} ({percent(_LEVEL)})"
            yield f"  users needed for {rules}: {users[1]:,}"
    if summary.users is not None:
        reach = summary.reach(_LEVEL, summary.users)
        yield f"  band over all rules with {quantity(summary.users, 'user')}: ± {figure(reach, 3)}"
    if summary.shares is None:
        yield "  a rule that is chosen by the same reports has the band and no interval of its own"
        return
    shares = ", ".join(chosen(share) for share in summary.shares)
    yield f"  three rounds with {shares} of the devices: all rules, the best {summary.top} of them, one"
    if summary.users is not None:
        certified = summary.certified_reach(_LEVEL, summary.users)
        yield f"  interval of the rule that is left, where a mistake costs 1: ± {figure(certified, 3)} at most"


def _average_case(figures: AverageCaseFigures) -> Iterator[str]:
    """Users for one rule that is known beforehand, beside those that answers for each database take."""
    yield f"  one known rule of {figures.width} of {figures.indicators} indicators, only on average over databases:"
    within = f"within {chosen(figures.error)} with a chance of failure of {chosen(figures.failure)}"
    yield f"    users needed for its share {within}: {figures.strong_users:,} (strongly useful)"
    yield f"    to tell all from none: {figures.weak_users:,} (weakly useful)"
    yield f"    with Laplace noise on every indicator: {figures.laplace_users:,}"
    paper = f"{figures.margin_users:,} with the true margin, {figures.lemma_users:,} with its lemma's"
    yield f"    by the bound of Aldà and Simon for their scheme: {paper}"
    yield f"    for an answer that holds for each database: {figures.worst_case_users:,}"
    least = f"fewer than {figures.least_users:,} users, by the paper's bound {figures.least_users_of_paper:,}"
    yield f"    no scheme tells all from none with {least} (Forster's bound {figure(figures.forster_bound)})"


def _drawn(summary: LinearSummary) -> Iterator[str]:
    """The same with tokens; nothing where reports have no coin, which tokens would draw."""
    drawn = summary.drawn_manipulation
    if drawn is not None and drawn.has_coin:
        moved = 0.01 * drawn.mean
        most = figure(moved, 3) if summary.unit is None else amount(moved, summary.unit)
        yield f"  with tokens, whose coins are drawn, by up to {most} in the mean"
        yield from _over(drawn.over)


def _over(queries: str | None) -> Iterator[str]:
    if queries is not None:
        yield f"    of {queries}"


def _ratio(of_bound: float | None) -> str:
    return " (no bound above 0)" if of_bound is None else f" ({ratio(of_bound)}× the lower bound)"


def _details(summary: LinearSummary) -> Iterator[str]:
    yield "the lower bound holds for unbiased one-round mechanisms"
    yield f"device part  {summary.digests.device}  {shown_device_part(summary)}"
    yield f"analyst part {summary.digests.analyst}  {summary.analyst_bytes:,} bytes"
    if summary.shuffled is not None:
        yield _shuffled(summary.shuffled)
    for claim in () if summary.blanket is None else summary.blanket.claims:
        yield f"  (ε {chosen(claim.epsilon)}, δ {figure(claim.delta)}) against the collector"
    if summary.users is not None and summary.predicted_errors is not None:
        worst = sorted(summary.predicted_errors, key=lambda item: -item.rmse)
        yield from (f"  {_error(item)}  {item.label}" for item in worst[:_SHOWN_ERRORS])
        if len(worst) > _SHOWN_ERRORS:
            yield f"  and {quantity(len(worst) - _SHOWN_ERRORS, 'query')} with smaller errors (--json has all)"


def _line(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def _variance(summary: LinearSummary, value: float | None) -> str:
    return "" if value is None else figure(summary.relative(value))


def _error(predicted: PredictedError) -> str:
    error = predicted.rmse
    return figure(error, 3) if predicted.unit is None else amount(error, predicted.unit, error)


def _number(value: float | None) -> str:
    return "" if value is None else figure(value)
