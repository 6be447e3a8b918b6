"""`sordino size --difference`: users and days that an experiment takes, and what it finds after weeks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.table import Table

from sordino_analysis.experiments.looks import Looks
from sordino_analysis.experiments.power import PlannedNoise, PowerTerms, error_of_an_arm
from sordino_analysis.figures import chosen
from sordino_analysis.percentages import percent
from sordino_server.cli.experiment_options import share_of
from sordino_server.cli.output import console, print_json, print_table
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol.experiments import MAX_ARMS
from sordino_shared.quantities import quantity

# Days after which the least difference is printed.
_STATED_DAYS = (7, 14, 30)
# Looks where nobody says how many users come a day: more change the users by less than one in a hundred.
_USUAL_LOOKS = 30
# The share of fake reports whose effect is printed, as it is with every plan.
_FAKE = 0.01

DifferenceOption = Annotated[
    str | None,
    typer.Option(
        metavar="X", help='Size an experiment instead: the difference between two arms to be found, as 1% or "50 ms".'
    ),
]
ArmsOption = Annotated[int, typer.Option(metavar="N", help="Arms of the experiment, of one size.")]
PowerOption = Annotated[str, typer.Option(metavar="P", help="Chance that the difference is found.")]
DailyOption = Annotated[int | None, typer.Option(metavar="N", min=1, help="Users who answer each day, in all arms.")]
SpreadOption = Annotated[
    str | None,
    typer.Option(metavar="X", help="Standard deviation of the users' values, as a share of the scale; at most 50%."),
]


@dataclass(frozen=True, kw_only=True)
class ExperimentSize:
    """What is asked: `difference`, `spread` and `expect` are shares of a query's scale.

    `daily` is of all arms together. People read `difference_text`.
    """

    difference: float
    difference_text: str
    arms: int
    power: float
    level: float
    daily: int | None
    spread: float
    looks: Looks
    expect: float | None

    @classmethod
    def of(cls, options: dict[str, Any], difference: float, text: str) -> ExperimentSize:
        """From the command's options; raises InvalidValue for what nobody can ask."""
        spread = 0.5 if options["spread"] is None else share_of("--spread", options["spread"])
        expect = None if options["expect"] is None else share_of("--expect", options["expect"])
        if expect is not None and not (options["looks"] is Looks.ALWAYS and 0 < expect < 1):
            raise InvalidValue(
                "--expect goes with --looks always, and is a share of the scale between 0 and 1, such as 10%", expect
            )
        asked = cls(
            difference=difference,
            difference_text=text,
            arms=options["arms"],
            power=share_of("--power", options["power"]),
            level=options["level"],
            daily=options["daily"],
            # Values with this mean on a scale of length 1 spread no more.
            spread=spread if expect is None else min(spread, math.sqrt(expect * (1 - expect))),
            looks=options["looks"],
            expect=expect,
        )
        if not 0 < asked.difference < 1:
            raise InvalidValue(f"--difference lies between 0 and 1, such as 1%, not {chosen(asked.difference)}", asked)
        if not 2 <= asked.arms <= MAX_ARMS:
            raise InvalidValue(f"an experiment has 2 to {MAX_ARMS} arms, not {asked.arms}", asked.arms)
        if not 0 <= spread <= 0.5:
            raise InvalidValue("--spread is at most 50%, where half of the users are at each end of the scale", spread)
        return asked

    def error_of_an_arm(self, noise: PlannedNoise | None = None) -> float:
        """The error of the reports of one arm that a plan behind a shuffler is chosen by, as a share of the scale.

        Users as a sample take a part of it, which the users of a first plan's `noise` tell.
        """
        most = error_of_an_arm(self.difference, (1,) * self.arms, self.level, self.power)
        if noise is None:
            return most
        users = self._terms(noise).users(self.difference) / self.arms
        return math.sqrt(most**2 - self.spread**2 / users)

    def row(self, epsilon: float, noise: PlannedNoise) -> dict[str, Any]:
        """What one ε takes, as `--json` prints it."""
        # Fake reports choose their arm: in one of so many equal arms they are so many times the share.
        moved = self.arms * noise.manipulation
        row = {"epsilon": epsilon, "mechanism": noise.mechanism, "manipulation": moved}
        return row | ({"blanket": noise.blanket} if noise.blanket else {}) | self._found(self._terms(noise))

    def _terms(self, noise: PlannedNoise) -> PowerTerms:
        return PowerTerms(
            noise=noise.variance + self.spread**2,
            random=noise.random,
            weights=(1,) * self.arms,
            level=self.level,
            power=self.power,
            contributions=noise.contributions(self.spread, self.expect) if self.looks is Looks.ALWAYS else None,
        )

    def _found(self, terms: PowerTerms) -> dict[str, Any]:
        """The users of one look and of the rule, the days, and the least differences; looks are daily."""
        needed = {"one_look_users": terms.users(self.difference)}
        if self.daily is None:
            return needed | {"users": terms.users(self.difference, self.looks, _USUAL_LOOKS), "days": None}
        looks = math.ceil(needed["one_look_users"] / self.daily)
        users = terms.users(self.difference, self.looks, looks)
        after = {str(day): terms.difference(self.daily * day, self.looks, day) for day in _STATED_DAYS}
        return needed | {"users": users, "days": math.ceil(users / self.daily), "difference_after_days": after}

    def show(self, rows: list[dict[str, Any]], as_json: bool) -> None:
        """Print the rows, for a program or for people."""
        if as_json:
            names = ("difference", "arms", "power", "level", "daily", "spread", "expect")
            print_json({name: getattr(self, name) for name in names} | {"looks": self.looks.value, "rows": rows})
            return
        found = f"a difference of {self.difference_text} is found with {percent(self.power)} at {percent(self.level)}"
        console.print(f"users in {quantity(self.arms, 'arm')} together: {found}", highlight=False)
        table = Table(box=None, pad_edge=False, header_style="bold")
        rules = {Looks.PLANNED: "daily looks", Looks.ANY: "any time", Looks.ALWAYS: "always"}
        headings = ["ε", "one look", rules[self.looks]] if self.looks is not Looks.END else ["ε", "one look"]
        headings += [] if self.daily is None else ["days", *(f"± {day} d" for day in _STATED_DAYS)]
        headings += [f"{percent(_FAKE)} fake"]
        for heading in headings:
            table.add_column(heading, justify="right")
        for row in rows:
            table.add_row(*self._cells(row))
        print_table(table)
        for row in rows:
            if "blanket" in row:
                mixed = f"behind a shuffler that mixes {quantity(row['blanket'], 'random report')} into each arm"
                console.print(f"{mixed}; ε {chosen(row['epsilon'])} is that of a device", highlight=False)
        if self.daily is not None:
            console.print("± 7 d is the least difference that 7 days find, as a share of the scale", highlight=False)
        told = (
            f"{percent(_FAKE)} fake is how far {percent(_FAKE)} of fake reports, all in one arm, can move a difference"
        )
        console.print(told, highlight=False)

    def _cells(self, row: dict[str, Any]) -> list[str]:
        users = ["one_look_users"] if self.looks is Looks.END else ["one_look_users", "users"]
        cells = [chosen(row["epsilon"]), *(f"{row[name]:,}" for name in users)]
        if self.daily is not None:
            cells += [f"{row['days']:,}", *(percent(each, 2) for each in row["difference_after_days"].values())]
        return [*cells, percent(_FAKE * row["manipulation"], 2)]
