"""A page for each package: the names of its `__all__`, which autodoc documents."""

from __future__ import annotations

import inspect
from importlib import import_module

from docs.site.docstrings import as_markdown
from docs.site.reference.markdown import ORPHAN, index

PACKAGES = {
    "sordino_analysis": "plan, estimate and compare in a notebook",
    "sordino_client": "the device SDK",
    "sordino_client.consent": "ask the owner of a device",
    "sordino_client.testing": "test an app without a server",
    "sordino_client.backend": "one process that answers for many users",
    "sordino_server.simulation": "fleets of simulated devices",
}
# Documented by the package that is named first.
PASSED_ON = {"sordino_analysis.SordinoError", "sordino_client.testing.Domain", "sordino_client.testing.ShakeRandomness"}
# Classes that nobody makes by hand and that public functions return.
RETURNED = {
    "sordino_client": (
        "sordino_client._account.LogAccount",
        "sordino_client._account.SeriesAccount",
        "sordino_client._shuffled.MixedGuarantee",
    ),
    "sordino_analysis": (
        "sordino_analysis.analyst.answers.AskedAnswers",
        "sordino_analysis.analyst.chosen_items.SimulatedItems",
        "sordino_analysis.analyst.display.AnswersShown",
        "sordino_analysis.analyst.experiments.Looked",
        "sordino_analysis.analyst.quantile_shifts.ComparedQuantile",
        "sordino_analysis.analyst.simulated_experiments.SimulatedExperiments",
        "sordino_analysis.answers.table.AnswerTable",
        "sordino_analysis.comparisons.difference.Difference",
        "sordino_analysis.comparisons.measures.MeasuresDifference",
        "sordino_analysis.evaluation.manipulation.DrawnMoves",
        "sordino_analysis.panel.period_answers.Change",
        "sordino_analysis.panel.period_answers.PeriodAnswers",
        "sordino_analysis.planning.audit.Check",
        "sordino_analysis.planning.sample_size.SampleSizes",
    ),
}
_LEAD = "What the packages export. Names that stand here are kept as [compatibility](../../compatibility.md) says."


def pages() -> dict[str, str]:
    """One page for each package, and one that lists them."""
    made = {f"python/{name}.md": _page(name) for name in PACKAGES}
    listed = [(name, name, text) for name, text in PACKAGES.items()]
    return made | {"python/index.md": index("Python", _LEAD, listed)}


def public_names() -> dict[str, object]:
    """Every public thing by its full name; a package that passes one on has it on its page alone."""
    found: dict[str, object] = {}
    for package in PACKAGES:
        module = import_module(package)
        found |= {f"{package}.{name}": getattr(module, name) for name in module.__all__}
    return found


def _page(package: str) -> str:
    module = import_module(package)
    lines = [f"# {package}", "", *as_markdown(inspect.getdoc(module) or "")]
    lines += ["```{eval-rst}", f".. py:module:: {package}", ""]
    for name in module.__all__:
        lines += _entry(f"{package}.{name}", getattr(module, name))
    if package in RETURNED:
        lines += ["```", "", "## What these return", "", "```{eval-rst}"]
    for place in RETURNED.get(package, ()):
        home, _, name = place.rpartition(".")
        lines += _entry(place, getattr(import_module(home), name))
    return ORPHAN + "\n".join([*lines, "```", ""])


def _entry(place: str, thing: object) -> list[str]:
    """The directive of one name; a name that another package documents is listed without a second target."""
    lines = [f".. {_directive(thing)}:: {place}"]
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        lines.append("   :show-inheritance:")
    if place in PASSED_ON:
        lines.append("   :no-index:")
    return [*lines, ""]


def _directive(thing: object) -> str:
    if inspect.isclass(thing):
        return "autoexception" if issubclass(thing, BaseException) else "autoclass"
    return "autofunction" if inspect.isroutine(thing) else "autodata"
