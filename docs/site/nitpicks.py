"""Types of public signatures that have no entry of their own on the site, with the reason for each group."""

from __future__ import annotations

import re

_WITHOUT_ENTRY = {
    "parts of a manifest or of a plan, which docs/protocol.md describes field by field": (
        "sordino_shared.protocol.series.Rotating",
        "sordino_shared.protocol.plans.DevicePart",
        "sordino_shared.protocol.documents.Document",
        "sordino_shared.protocol.servers.CampaignServer",
        "sordino_shared.protocol.tokens.AccountGate",
        "sordino_shared.protocol.tokens.AddressGate",
        "sordino_shared.protocol.tokens.HookGate",
        "sordino_shared.protocol.tokens.Issuer",
        "sordino_shared.protocol.routes.Shuffler",
        "Arm", "Attribute", "CampaignServer", "EvenEdges", "OwnerText", "Rotating",
        "PrivacyClaim", "RoundAssignment", "RoundTerms", "Route", "Span",
    ),
    "randomizers: an app or analyst reads no more of them than `plan.mechanism`": (
        "sordino_shared.randomizers.subset_selection.SubsetSelection",
        "sordino_shared.randomizers.subset_mixture.SubsetMixture",
        "sordino_shared.randomizers.seeded_direction.SeededDirection",
        "sordino_shared.randomizers.randomized_response.RandomizedResponse",
        "sordino_shared.randomizers.pair.Pair",
        "sordino_shared.randomizers.orbit_kernel.OrbitKernel",
        "sordino_shared.randomizers.finite_kernel.FiniteKernel",
        "sordino_shared.randomizers.dithered.Dithered",
        "sordino_shared.randomizers.coarsened.randomizer.Coarsened",
        "sordino_shared.randomizers.base.Randomizer",
    ),
    "queries of a plan as documents, which docs/protocol.md describes": (
        *(f"sordino_analysis.documents.queries.{kind}Queries" for kind in (
            "Stack", "Product", "Parity", "OrderedConcept", "Matrix", "Marginal", "Indicator", "Concept",
        )),
        "sordino_analysis.documents.string_queries.StringQueries",
        "sordino_analysis.documents.number_queries.NumberQueries",
        "sordino_analysis.documents.protocol_plan.ProtocolPlan",
        "sordino_analysis.documents.protocol_plan.FormBound",
        "sordino_analysis.documents.blanket_terms.BlanketTerms",
        "sordino_analysis.documents.attribute_bounds.AttributeBounds",
        "sordino_analysis.documents.analyst_part.AnalystPart",
        "sordino_analysis.answers.document.EstimateDocument",
    ),
    "what a workload is made of inside; docs/workloads.md has the forms that people write": (
        "sordino_analysis.questions.pairwise.specification.PairwiseSpecification",
        "sordino_analysis.questions.pairwise.pairwise_statistic.PairwiseStatistic",
        "sordino_analysis.questions.linear.scopes.QueryScope",
        "sordino_analysis.questions.linear.operators.Symmetry",
        "sordino_analysis.questions.linear.operators.LinearMap",
        "sordino_analysis.questions.linear.numbers.clipping.ClippedNumbers",
        "sordino_analysis.questions.linear.dithering.Dithering",
        "sordino_shared.domains.text_code.TextCode",
        "sordino_analysis.text_codes.string_code.WrittenCode",
        "sordino_analysis.strings.specification.StringsSpecification",
        "sordino_analysis.strings.search.StringDomain",
    ),
    "what public classes keep inside and hand to their own methods": (
        "sordino_analysis.estimation.normality.Normality",
        "sordino_analysis.estimation.items.ItemEstimate",
        "sordino_analysis.estimation.linear_estimate.LinearEstimate",
        "sordino_analysis.estimation.linear.LinearEstimator",
        "sordino_analysis.estimation.concepts.ConceptEstimate",
        "sordino_analysis.estimation.answer_on_demand.OnDemand",
        "sordino_analysis.evaluation.answer_moments.AnswerMoments",
        "sordino_analysis.evaluation.answer_moments.ErrorProfile",
        "sordino_analysis.comparisons.quantile_shift.QuantileShift",
        "sordino_analysis.experiments.looking.ExperimentDesign",
        "sordino_analysis.guarantees.shuffled.Shuffled",
        "sordino_analysis.pairwise.statistic_estimate.PairwiseEstimate",
        "sordino_analysis.panel.means.WeightedMean",
        "sordino_analysis.panel.means.MeanPart",
        "sordino_analysis.panel.smoother.Trend",
        "sordino_analysis.planning.rounds.RoundPlan",
        "sordino_analysis.planning.sample_size.Statement",
        "sordino_client._ledger_view.LedgerView",
        "sordino_client._flow.Pause",
        "sordino_client.backend._store.T",
        "sordino_shared.http.connection.Connection",
    ),
    "what the argument's description says in words": (
        "sordino_analysis.request_terms.Effort",
        "sordino_analysis.request_terms.Objective",
        "sordino_analysis.progress.ProgressCallback",
        "pathlib.Path",
        # An array of bytes, one report a row.
        "sordino_analysis.analyst.reports.Reports",
        # Rows of any library's data frame, or a list of values.
        "sordino_analysis.analyst.users.Values",
        "sordino_analysis.analyst.simulation.HasDomain",
    ),
    "a source of random bytes, which tests and simulations alone give": (
        "sordino_shared.randomness.Randomness",
    ),
    "the parent of errors that are listed with their codes": (
        "sordino_shared.errors.ProtocolError",
    ),
}  # fmt: skip

# A module that imports a name for types alone has it without its place.
IGNORED = [
    ("py:.*", rf"({re.escape(place)}\.)?{re.escape(name)}" if place else rf"([\w.]+\.)?{re.escape(name)}")
    for names in _WITHOUT_ENTRY.values()
    for place, _, name in (each.rpartition(".") for each in names)
]
