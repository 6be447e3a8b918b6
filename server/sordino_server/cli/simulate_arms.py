"""`sordino simulate --arms`: experiments on the rows of a CSV file, to see what a rule of looks finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from sordino_analysis.analyst.simulated_experiments import ExperimentUsers, SimulatedExperiments
from sordino_analysis.comparisons.matching import queries_by_label
from sordino_analysis.experiments.looking import ExperimentDesign
from sordino_analysis.experiments.looks import Looks
from sordino_analysis.figures import chosen
from sordino_analysis.planning.finished_plan import FinishedPlan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.questions.question import WrittenQuestion
from sordino_analysis.requests import kind_of_question
from sordino_analysis.vectorized.domains import codes_many
from sordino_server.cli.experiment_options import share_of
from sordino_server.cli.local_planning import finished_plan
from sordino_server.cli.output import console, print_json
from sordino_server.cli.progress_bar import displayed_progress
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Arm
from sordino_shared.protocol.experiments import MAX_ARMS, WHOLE_ARM_WEIGHT
from sordino_shared.quantities import quantity

# What one asks of an experiment alone.
OF_ARMS = ("effect", "days", "daily", "primary", "looks", "collector", "target_error")
# What a campaign on a server has, and a simulation of experiments does without.
OF_CAMPAIGNS = ("users", "protocol", "apps", "server", "key", "chart", "keep", "label")
# Experiments where nobody says how many: of 1,000 a false alarm rate of .05 is known to ± .007.
_RUNS = 1000
# Labels that a message shows.
_SHOWN = 3

SimulatedArmsOption = Annotated[
    int | None,
    typer.Option("--arms", metavar="N", help="Simulate experiments with N equal arms; --effect 0 is an A/A test."),
]
EffectOption = Annotated[
    str, typer.Option(metavar="X", help="With --arms: how much higher the metric is in later arms, as 0 or 1%.")
]
DaysOption = Annotated[int, typer.Option(min=1, max=366, metavar="N", help="With --arms: days of an experiment.")]
DailyUsersOption = Annotated[
    int | None, typer.Option("--daily", min=1, metavar="N", help="With --arms: users a day; default: rows/days.")
]
PrimaryOption = Annotated[
    str | None, typer.Option(metavar="LABEL", help="With --arms: the query that decides, if there are several.")
]


@dataclass(frozen=True, kw_only=True)
class ArmsAsked:
    """What the command's options say of the experiments."""

    arms: int
    effect: float
    days: int
    daily: int
    primary: str | None
    looks: Looks

    @classmethod
    def of(cls, given: dict[str, Any], rows: int) -> ArmsAsked:
        """From the options, for a file of so many rows; raises InvalidValue for what nobody can ask."""
        if not 2 <= given["arms"] <= MAX_ARMS:
            raise InvalidValue(f"--arms: an experiment has 2 to {MAX_ARMS} arms, not {given['arms']}", given["arms"])
        effect = share_of("--effect", given["effect"])
        if not -1 < effect < 1:
            raise InvalidValue("--effect lies between −1 and 1, such as 0 or 1%", effect)
        daily = given["daily"] or max(1, rows // given["days"])
        return cls(effect=effect, daily=daily, **{name: given[name] for name in ("arms", "days", "primary", "looks")})

    def design(self, plan: FinishedPlan) -> ExperimentDesign:
        """The rule, for the plan's queries; raises InvalidValue where it is not said which of several decides."""
        workload = build_workload(plan.device.domain, plan.analyst.queries, plan.analyst.workload)
        labels = [label for label, query in queries_by_label(workload).items() if query in workload.varying_rows]
        primary = self.primary or (labels[0] if len(labels) == 1 else None)
        if primary not in labels:
            some = ", ".join(map(repr, labels[:_SHOWN])) + (", …" if len(labels) > _SHOWN else "")
            raise InvalidValue(f"--primary names the query that decides, one of {some}", primary)
        weights = [WHOLE_ARM_WEIGHT // self.arms] * self.arms
        weights[0] += WHOLE_ARM_WEIGHT - sum(weights)
        return ExperimentDesign(
            arms=tuple(Arm(chr(ord("A") + place), weight) for place, weight in enumerate(weights)),
            primary=primary,
            looks=self.looks,
            days=self.days,
            users=self.days * self.daily,
            spread=0.5,
            level=0.95,
        )


def simulate_arms(
    given: dict[str, Any], question: WrittenQuestion, options: PlanningOptions, values: Sequence[object]
) -> None:
    """Plan, run the experiments and print what the rule found; raises InvalidValue for a kind without arms."""
    asked, kind = ArmsAsked.of(given, len(values)), kind_of_question(question)
    if not kind.compares_arms:
        raise InvalidValue(f"arms are compared by shares and means, and the workload is of kind {kind.name}")
    plan = finished_plan(kind.request_class().of(question, options), None)
    users = ExperimentUsers(
        device=plan.device,
        analyst=plan.analyst,
        codes=codes_many(plan.device.domain, values),
        design=asked.design(plan),
        effect=asked.effect,
        blanket=0 if plan.analyst.blanket is None else plan.analyst.blanket.reports,
    )
    runs = given["repeat"] if given["repeat"] > 1 else _RUNS
    with displayed_progress() as show:
        found = users.run(runs, given["seed"], show)
    if given["as_json"]:
        print_json(_document(asked, users, plan, found))
        return
    head = f"{users.design.primary}: {asked.arms} arms, {asked.daily:,} users a day for {asked.days} days"
    mixed = f", {quantity(users.blanket, 'random report')} in each arm" if users.blanket else ""
    head += f", ε = {chosen(plan.device.guarantee.epsilon)}{mixed}"
    console.print(f"{head}\n{found}", highlight=False, markup=False)


def _document(
    asked: ArmsAsked, users: ExperimentUsers, plan: FinishedPlan, found: SimulatedExperiments
) -> dict[str, Any]:
    return {
        "epsilon": plan.device.guarantee.epsilon,
        "blanket": users.blanket,
        "primary": users.design.primary,
        "arms": asked.arms,
        "effect": asked.effect,
        "looks": asked.looks.value,
        "days": asked.days,
        "daily": asked.daily,
        "runs": found.runs,
        "found": found.found,
        "found_by_naive_looks": found.naive,
        "sample_ratio_alarms": found.alarms,
        "stopped_on_days": list(found.days),
    }
